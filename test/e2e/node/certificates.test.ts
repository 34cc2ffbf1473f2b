/** Certificates of sites on a node: its agent makes key and request, the panel orders from Pebble, our own nginx serves. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import type { Server } from 'node:net'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { layout, type Site as PlainSite, usingAgentNode } from '../../harness/agent-node.ts'
import { pebbleIsInstalled, startAuthority, startDns } from '../../harness/authority.ts'
import { createTestAuthority, type Pem } from '../../harness/certificates.ts'
import { newDirectory } from '../../harness/directory.ts'
import { nodeTest } from '../../harness/node-machine.ts'
import { relay } from '../../harness/node-relay.ts'
import type { Customer } from '../../harness/panel.ts'
import { freePort } from '../../harness/port.ts'
import { until } from '../../harness/until.ts'

setDefaultTimeout(200_000)

type Name = { name: string; state: string; reason: string | null }
type Site = PlainSite & { urls: string[]; tls: { state: string; names: Name[]; issuer: string | null } }

const DAY = 86_400
const directory = newDirectory()
const [plainPort, securePort] = [await freePort(), await freePort()]
const dns = pebbleIsInstalled ? await startDns() : undefined
const authority = pebbleIsInstalled
  ? await startAuthority(join(directory, 'authority'), {
      proofPort: plainPort,
      validityDays: 90,
      refusedNames: ['refused.org'],
    })
  : undefined
const node = await usingAgentNode({
  acmeEmail: 'ops@example.com',
  acmeDirectory: authority?.directoryUrl ?? '',
  outboundAllow: ['127.0.0.0/8'],
  network: {
    dnsServers: [dns?.address ?? ''],
    httpPort: plainPort,
    authorityCertificate: authority ? readFileSync(authority.certificate, 'utf8') : '',
  },
})
const { machine, panel } = node
const relays: Server[] = []
let ada: Customer & { subscription: number }
let root: string
const certificateTest = pebbleIsInstalled ? nodeTest : nodeTest.skip

beforeAll(async () => {
  if (!machine || !authority) return
  node.start()
  // What names lead to, for the panel and for the authority.
  relays.push(await relay({ port: plainPort }, { path: await machine.socketTo(80) }))
  relays.push(await relay({ port: securePort }, { path: await machine.socketTo(443) }))
  root = await authority.root()
  ada = await node.customer()
})
afterAll(async () => {
  for (const server of relays) server.close()
  await authority?.stop()
  await dns?.stop()
  rmSync(directory, { recursive: true, force: true })
})

const show = async (id: number) => (await panel.get<Site>(`/sites/${id}`, ada.token)).data
const create = async (domain: string, aliases: string[] = []) => node.create(ada, { domain, aliases })
const untilState = (id: number, state: string) =>
  until(`state ${state} of site ${id}`, async () => {
    const site = await show(id)
    return site.tls.state === state && site
  })

/** @returns undefined where the handshake is refused */
function handshake(servername: string): Promise<{ certificate: X509Certificate; isTrusted: boolean } | undefined> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port: securePort, servername, ca: root, rejectUnauthorized: false }
    const socket = connect(options, () => {
      const certificate = new X509Certificate(socket.getPeerCertificate().raw)
      resolve({ certificate, isTrusted: socket.authorized })
      socket.destroy()
    })
    socket.on('error', () => resolve(undefined))
  })
}
const shown = async (name: string) => (await handshake(name))?.certificate.fingerprint256
/** @returns `owner:group mode` */
const accessOf = async (path: string) => (await machine.bash(`stat -L -c '%U:%G %a' ${path}`)).trim()
const statusOf = (name: string) =>
  machine.bash(`curl -sk -o /dev/null -w '%{http_code}' --resolve ${name}:443:127.0.0.1 https://${name}/`)

describe('a site on a node', () => {
  certificateTest('is served over HTTPS under its names, with a certificate that clients trust', async () => {
    const site = await create('www.example.com', ['example.com'])
    const { tls, urls } = await untilState(site.id, 'active')
    expect(tls.issuer).toContain('Pebble')
    expect(urls).toEqual(['https://www.example.com', 'https://example.com'])
    for (const name of ['www.example.com', 'example.com']) {
      const seen = await handshake(name)
      expect([seen?.isTrusted, seen?.certificate.subjectAltName]).toEqual([
        true,
        'DNS:www.example.com, DNS:example.com',
      ])
      expect(await statusOf(name)).toBe('200')
    }
    const plain = await node.visit('www.example.com', '/a?b')
    expect([plain.status, plain.headers.get('location')]).toEqual([308, 'https://www.example.com/a?b'])
  })

  certificateTest(
    'has a key that was made on it, for root and the web server alone, and no challenge left',
    async () => {
      const site = await create('key.example.com')
      await untilState(site.id, 'active')
      const file = `${layout.certificates}/by-name/key.example.com/pem`
      expect(await accessOf(file)).toBe('root:ncp-web 640')
      expect(await accessOf(`${layout.certificates}/by-name/key.example.com`)).toBe('root:ncp-web 750')
      expect(await machine.bash(`readlink ${layout.certificates}/by-name/key.example.com`)).toMatch(
        new RegExp(`^\\.\\./certs/${site.id}\\.\\d+\n$`),
      )
      expect(await machine.bash(`stat -c '%U %a' ${layout.certificateKeys}/${site.id}/*`)).toBe('root 600\n')
      const pem = await machine.bash(`cat ${file}`)
      const key = pem.split('-----BEGIN PRIVATE KEY-----\n')[1]?.split('\n')[0] ?? ''
      expect(key.length).toBeGreaterThan(40)
      expect(JSON.stringify(node.reports)).not.toContain(key)
      for (const name of ['ncp.db', 'ncp.db-wal'])
        expect(readFileSync(join(panel.data, name), 'latin1')).not.toContain(key)
      await until('no challenge', async () => (await machine.bash(`ls -A ${layout.challenges}`)) === '')
      const asCustomer = await machine.run(['cat', file], { as: `ncp-s${ada.subscription}` })
      expect(asCustomer.exitCode).not.toBe(0)
    },
  )

  certificateTest('is served again after someone else has removed or opened its files', async () => {
    const site = await create('mended.example.com')
    await untilState(site.id, 'active')
    const link = `${layout.certificates}/by-name/mended.example.com`
    const before = await shown('mended.example.com')
    for (const harm of [`rm ${link}`, `rm ${link}/pem`, `echo x >${link}/pem`, `ln -sfn ../certs/1.1 ${link}`]) {
      await machine.bash(harm)
      node.compare()
      await until(harm, async () => (await shown('mended.example.com')) === before)
    }
    await machine.bash(`chmod 644 ${link}/pem; chown ncp-web ${link}/pem`)
    node.compare()
    await until('the mode', async () => (await accessOf(`${link}/pem`)) === 'root:ncp-web 640')
  })

  certificateTest(
    'answers a name without a certificate with no handshake, and loses an alias that is refused',
    async () => {
      const site = await create('rest.example.com', ['alias.refused.org'])
      const partial = await untilState(site.id, 'partial')
      expect(partial.tls.names.map(({ state }) => state)).toEqual(['active', 'failed'])
      expect(await handshake('alias.refused.org')).toBeUndefined()
      expect(await handshake('unknown.example.com')).toBeUndefined()
      expect((await node.visit('alias.refused.org')).status).toBe(200)
    },
  )

  certificateTest('keeps what is served across a restart of its agent, and orders again for a lost key', async () => {
    const site = await create('stays.example.com')
    await untilState(site.id, 'active')
    const before = await shown('stays.example.com')
    node.agent()?.kill('SIGTERM')
    await node.agent()?.ended()
    node.start()
    await until('it is served', async () => (await shown('stays.example.com')) === before)
    const other = await create('after.example.com')
    await untilState(other.id, 'active')
    expect(await shown('stays.example.com')).toBe(before)

    node.agent()?.kill('SIGTERM')
    await node.agent()?.ended()
    await machine.bash(`rm -r ${layout.certificateKeys}/${site.id}`)
    node.start()
    await until('the loss', async () => (await show(site.id)).tls.state === 'failed')
    panel.clock.advance(DAY + 1)
    ada.token = await panel.login(ada.email)
    await panel.services.certificates.seeToDue()
    await untilState(site.id, 'active')
    await until('another certificate', async () => {
      const now = await shown('stays.example.com')
      return now !== undefined && now !== before
    })
  })

  certificateTest('is renewed by one rename, and no handshake fails', async () => {
    const site = await create('renewed.example.com')
    await untilState(site.id, 'active')
    const first = await shown('renewed.example.com')
    let isDone = false
    const seen: (string | undefined)[] = []
    const visitor = (async () => {
      while (!isDone) seen.push(await shown('renewed.example.com'))
    })()
    panel.clock.advance(61 * DAY)
    ada.token = await panel.login(ada.email)
    await panel.services.certificates.seeToDue()
    await until('another certificate', async () => (await shown('renewed.example.com')) !== first)
    isDone = true
    await visitor
    expect(seen).not.toContain(undefined)
    expect(new Set(seen).size).toBeLessThanOrEqual(2)
    await until('another key alone', async () => {
      return (await machine.bash(`ls ${layout.certificateKeys}/${site.id} | wc -l`)) === '1\n'
    })
  })

  certificateTest('is served with an uploaded certificate, and without one once it is gone', async () => {
    ada.token = await panel.login(ada.email)
    const site = await create('own.test')
    const own = await createTestAuthority(panel.clock.now())
    const made: Pem = await own.issue({ names: ['own.test'] })
    expect((await panel.post(`/sites/${site.id}/certificate`, ada.token, made)).status).toBe(201)
    await untilState(site.id, 'active')
    expect(await shown('own.test')).toBe(new X509Certificate(made.certificate).fingerprint256)
    expect((await panel.delete(`/sites/${site.id}/certificate`, ada.token)).status).toBe(200)
    await until('it is gone', async () => (await handshake('own.test')) === undefined)
    expect((await node.visit('own.test')).status).toBe(200)
    expect(await machine.bash(`ls ${layout.certificates}/certs | grep -c '^${site.id}\\.' || true`)).toBe('0\n')
  })

  certificateTest('takes its keys and certificates with it when it is deleted', async () => {
    const site = await create('gone.example.com')
    await untilState(site.id, 'active')
    await panel.delete(`/sites/${site.id}`, ada.token)
    await until('it is gone', async () => (await panel.get(`/sites/${site.id}`, ada.token)).status === 404)
    await until('its handshake too', async () => (await handshake('gone.example.com')) === undefined)
    const left = await machine.bash(
      `ls ${layout.certificateKeys} ${layout.certificates}/certs ${layout.certificates}/by-name`,
    )
    expect(left.split('\n').filter((name) => name === `${site.id}` || name.startsWith(`${site.id}.`))).toEqual([])
    expect(left).not.toContain('gone.example.com')
  })
})
