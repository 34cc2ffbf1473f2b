/** Certificates of sites: a panel that serves sites against Pebble, over both address families, from a name to HTTPS. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { createBackup } from '../../../src/backup/create.ts'
import type { Config } from '../../../src/config/schema.ts'
import { panelItself } from '../../../src/core/actor.ts'
import { certificateNames, certificates } from '../../../src/db/tables.ts'
import { type Authority, pebbleIsInstalled, startAuthority, startDns } from '../../harness/authority.ts'
import { newDirectory } from '../../harness/directory.ts'
import { createTestLog } from '../../harness/log.ts'
import { type Customer, type Panel, startPanel } from '../../harness/panel.ts'
import { freePort } from '../../harness/port.ts'
import { until } from '../../harness/until.ts'

setDefaultTimeout(200_000)

const HOUR = 3600
const DAY = 24 * HOUR
/** This authority issues for no name there. */
const REFUSED = ['refused.org']

type Name = { name: string; state: string; reason: string | null; retry_at: string | null }
type Site = {
  id: number
  status: string
  urls: string[]
  tls: { state: string; reason: string | null; names: Name[]; not_after: string | null; issuer: string | null }
}

let authority: Authority
/** What the panel sees of the DNS; the authority sees its own. */
let dns: Awaited<ReturnType<typeof startDns>>
let root: string
const directory = newDirectory()

beforeAll(async () => {
  if (!pebbleIsInstalled) return
  dns = await startDns()
  authority = await startAuthority(join(directory, 'authority'), {
    proofPort: await freePort(),
    validityDays: 90,
    refusedNames: REFUSED,
  })
  root = await authority.root()
})
afterAll(async () => {
  await authority?.stop()
  await dns?.stop()
  rmSync(directory, { recursive: true, force: true })
})

/** For both sides. */
async function setAddresses(name: string, addresses: { a?: string[]; aaaa?: string[] }): Promise<void> {
  await dns.setAddresses(name, addresses)
  await authority.setAddresses(name, addresses)
}

const log = createTestLog()

const openPanel = (options: Partial<Config> = {}) =>
  startPanel(
    {
      sitesPort: authority.proofPort,
      sitesTlsPort: 0,
      acmeEmail: 'ops@example.com',
      acmeDirectory: authority.directoryUrl,
      outboundAllow: ['127.0.0.0/8', '::1'],
      ...options,
      network: {
        dnsServers: [dns.address],
        httpPort: authority.proofPort,
        authorityCertificate: readFileSync(authority.certificate, 'utf8'),
      },
    },
    log,
  )

type Handshake = { certificate: X509Certificate; isTrusted: boolean }

/** As a client does that knows the authority's root and nothing else. */
function handshake(port: number, servername: string, host = '127.0.0.1'): Promise<Handshake> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, servername, ca: root, rejectUnauthorized: false }, () => {
      const certificate = new X509Certificate(socket.getPeerCertificate().raw)
      resolve({ certificate, isTrusted: socket.authorized })
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

/** A request over a connection of its own. */
function get(port: number, name: string, path = '/', host: string | undefined = name) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, servername: name, headers: { host }, agent: false }
    const sent = request({ ...options, rejectUnauthorized: false }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end()
  })
}

describe.skipIf(!pebbleIsInstalled)('with an authority', () => {
  let panel: Panel
  let ada: Customer
  let subscription: number
  beforeAll(async () => {
    panel = await openPanel()
    ada = await panel.customer()
    subscription = await panel.subscription(ada.id)
  })
  afterAll(() => panel.stop())

  const show = async (id: number, on = panel, token = ada.token) => (await on.get<Site>(`/sites/${id}`, token)).data
  const create = async (domain: string, aliases: string[] = []) => {
    const { status, data } = await panel.post<Site>('/sites', ada.token, { domain, aliases })
    expect(status).toBe(201)
    return data
  }
  /** Once each of its names stands so. */
  const untilStates = (id: number, states: Record<string, string>) =>
    until(`the names of site ${id}`, async () => {
      const site = await show(id)
      const found = Object.fromEntries(site.tls.names.map(({ name, state }) => [name, state]))
      return Bun.deepEquals(found, states) && site
    })
  const nameOf = ({ tls }: Site, wanted: string) => tls.names.find(({ name }) => name === wanted)
  const keysOf = ({ id }: { id: number }) => {
    const path = join(panel.data, 'tls/sites', `${id}`)
    return readdirSync(path).map((name) => ({
      name,
      path: join(path, name),
      mode: statSync(join(path, name)).mode & 0o777,
    }))
  }
  /** How often certificates were ordered for a name so far, with or without success. */
  const ordersOf = (name: string) =>
    log.lines.filter(({ msg, names }) => `${msg}`.includes('issued') && (names as string[]).includes(name)).length

  test('a new site is served over HTTPS under each of its names, with a certificate that clients trust', async () => {
    const site = await create('www.example.com', ['example.com'])
    const { tls, urls } = await untilStates(site.id, { 'www.example.com': 'active', 'example.com': 'active' })
    expect(tls).toMatchObject({ state: 'active', reason: null, issuer: expect.stringContaining('Pebble') })
    expect(urls).toEqual([`https://www.example.com:${panel.sitesTlsPort}`, `https://example.com:${panel.sitesTlsPort}`])
    for (const name of ['www.example.com', 'example.com']) {
      for (const host of ['127.0.0.1', '::1']) {
        const { certificate, isTrusted } = await handshake(panel.sitesTlsPort, name, host)
        expect([isTrusted, certificate.subjectAltName]).toEqual([true, 'DNS:www.example.com, DNS:example.com'])
        expect(Date.parse(certificate.validTo)).toBe(Date.parse(tls.not_after ?? ''))
      }
      expect(await get(panel.sitesTlsPort, name)).toMatchObject({ status: 200, text: expect.stringContaining(name) })
    }
  })

  test('its key was made here, for its owner alone, and is in no backup, no row and no log', async () => {
    const site = await create('key.example.com')
    await untilStates(site.id, { 'key.example.com': 'active' })
    const [key, ...others] = keysOf(site)
    expect(others).toEqual([])
    expect(key?.mode).toBe(0o600)
    expect(statSync(join(panel.data, 'tls/sites')).mode & 0o777).toBe(0o700)
    const secret = readFileSync(key?.path ?? '', 'utf8').split('\n')[1] ?? ''
    expect(secret.length).toBeGreaterThan(40)
    const backup = { data: panel.data, directory: join(panel.data, 'backups'), nowMs: panel.clock.now() }
    await createBackup({ ...backup, version: '1.0.0', keep: undefined })
    const kept = [...new Bun.Glob('**/*').scanSync({ cwd: panel.data, onlyFiles: true })].filter(
      (name) => !name.startsWith('tls/sites/'),
    )
    expect(kept.some((name) => name.startsWith('backups/'))).toBeTrue()
    for (const name of kept) expect(readFileSync(join(panel.data, name), 'latin1')).not.toContain(secret)
    expect(JSON.stringify(log.lines)).not.toContain(secret)
  })

  test('HTTP leads to HTTPS, and challenges are answered before that', async () => {
    const plain = await panel.site('www.example.com', '/a/b?c=d')
    const location = `https://www.example.com/a/b?c=d`
    expect([plain.status, plain.headers.get('location')]).toEqual([301, location])
    const withPort = await panel.site(`www.example.com:${authority.proofPort}`, '/')
    expect(withPort.headers.get('location')).toBe(`https://www.example.com:${panel.sitesTlsPort}/`)
    // A site may prove itself to an authority of its own, by a file.
    expect((await panel.site('www.example.com', '/.well-known/acme-challenge/file')).status).toBe(200)
    expect((await panel.site('www.example.com', '/', { method: 'POST' })).status).toBe(405)
    expect(plain.headers.get('strict-transport-security')).toBeNull()
  })

  test('a name without a site gets a certificate that names nobody, and 421', async () => {
    const { certificate } = await handshake(panel.sitesTlsPort, 'unknown.example.com')
    expect(certificate.subject).toBe('CN=no-site-here.invalid')
    expect((await get(panel.sitesTlsPort, 'unknown.example.com')).status).toBe(421)
    await create('plain.localhost')
    await until('the site', async () => (await panel.site('plain.localhost')).status === 200)
    expect((await get(panel.sitesTlsPort, 'plain.localhost')).status).toBe(421)
  })

  test('a suspended site is 503 over HTTPS too', async () => {
    const admin = await panel.admin()
    await panel.patch(`/admin/subscriptions/${subscription}`, admin, { status: 'suspended' })
    await until('the suspension', async () => (await get(panel.sitesTlsPort, 'www.example.com')).status === 503)
    expect((await panel.site('www.example.com')).status).toBe(503)
    await panel.patch(`/admin/subscriptions/${subscription}`, admin, { status: 'active' })
    await until('its end', async () => (await get(panel.sitesTlsPort, 'www.example.com')).status === 200)
  })

  test('over IPv6 alone', async () => {
    for (const one of [dns, authority]) await one.setUsualAddress('')
    await setAddresses('six.example.com', { aaaa: ['::1'] })
    const site = await create('six.example.com', ['nowhere.example.com'])
    const shown = await untilStates(site.id, { 'six.example.com': 'active', 'nowhere.example.com': 'unverified' })
    expect(nameOf(shown, 'nowhere.example.com')?.reason).toBe(
      'nowhere.example.com has no A or AAAA record; set its A record to 127.0.0.1',
    )
    for (const one of [dns, authority]) await one.setUsualAddress('127.0.0.1')
  })

  test('a name that leads elsewhere is told where, and the others get their certificate', async () => {
    await setAddresses('away.example.com', { a: ['203.0.113.9'] })
    await setAddresses('half.example.com', { a: ['127.0.0.1'], aaaa: ['2001:db8::9'] })
    await dns.fail('none.example.com')
    const site = await create('right.example.com', [
      'away.example.com',
      'half.example.com',
      'none.example.com',
      'never.test',
    ])
    const shown = await untilStates(site.id, {
      'right.example.com': 'active',
      'away.example.com': 'unverified',
      'half.example.com': 'unverified',
      'none.example.com': 'unverified',
      'never.test': 'none',
    })
    expect(shown.tls.state).toBe('partial')
    expect(nameOf(shown, 'away.example.com')?.reason).toBe(
      'away.example.com leads to 203.0.113.9, which is not a public address; set its A record to 127.0.0.1',
    )
    expect(nameOf(shown, 'half.example.com')?.reason).toContain('half.example.com leads to 2001:db8::9, which is not a')
    expect(nameOf(shown, 'none.example.com')?.reason).toContain('none.example.com')
    expect(nameOf(shown, 'never.test')?.reason).toContain('.test')
    expect(['right', 'away', 'half', 'none'].map((name) => ordersOf(`${name}.example.com`))).toEqual([1, 0, 0, 0])
    expect(shown.urls[1]).toStartWith('http://away.example.com')
  })

  test('an alias that the authority refuses drops out, in its words, and the rest gets its certificate', async () => {
    const site = await create('rest.example.com', ['alias.refused.org'])
    const shown = await untilStates(site.id, { 'rest.example.com': 'active', 'alias.refused.org': 'failed' })
    expect(nameOf(shown, 'alias.refused.org')?.reason).toMatch(/alias\.refused\.org.*rejectedIdentifier/)
    const { certificate } = await handshake(panel.sitesTlsPort, 'rest.example.com')
    expect(certificate.subjectAltName).toBe('DNS:rest.example.com')
  })

  test('an alias that the authority sees elsewhere drops out too', async () => {
    await authority.setAddresses('split.example.com', { a: ['192.0.2.1'] })
    const site = await create('whole.example.com', ['split.example.com'])
    const shown = await untilStates(site.id, { 'whole.example.com': 'active', 'split.example.com': 'failed' })
    expect(nameOf(shown, 'split.example.com')?.reason).toBeTruthy()
    await authority.setAddresses('split.example.com', { a: ['127.0.0.1'] })
    panel.clock.advance(16 * 60)
    const retried = await panel.post(`/sites/${site.id}/certificate/retry`, await panel.login(ada.email))
    expect(retried.status).toBe(200)
    ada.token = await panel.login(ada.email)
    await untilStates(site.id, { 'whole.example.com': 'active', 'split.example.com': 'active' })
  })

  test('a name that fails is ordered three times in 24 hours, and one that leads elsewhere not once', async () => {
    await setAddresses('lost.example.com', { a: ['203.0.113.9'] })
    const site = await create('refused.org', ['lost.example.com'])
    await untilStates(site.id, { 'refused.org': 'failed', 'lost.example.com': 'unverified' })
    for (let minutes = 0; minutes < 24 * 60; minutes += 20) {
      panel.clock.advance(20 * 60)
      await panel.services.certificates.seeToDue()
    }
    ada.token = await panel.login(ada.email)
    // At once, after 1 hour, and 6 hours after that.
    expect([ordersOf('refused.org'), ordersOf('lost.example.com')]).toEqual([3, 0])
    const { retry_at } = nameOf(await show(site.id), 'refused.org') ?? {}
    expect(Date.parse(retry_at ?? '') - panel.clock.now()).toBeGreaterThan(DAY * 1000 * 0.2)
    expect((await panel.delete(`/sites/${site.id}`, ada.token)).status).toBe(200)
  })

  test('another name gets a certificate of its own, and no other name is ordered again', async () => {
    const site = await create('grows.example.com')
    await untilStates(site.id, { 'grows.example.com': 'active' })
    const first = (await handshake(panel.sitesTlsPort, 'grows.example.com')).certificate.fingerprint256
    for (let turn = 0; turn < 3; turn++) {
      await panel.patch(`/sites/${site.id}`, ada.token, { aliases: ['more.example.com'] })
      await untilStates(site.id, { 'grows.example.com': 'active', 'more.example.com': 'active' })
      await panel.patch(`/sites/${site.id}`, ada.token, { aliases: [] })
      await untilStates(site.id, { 'grows.example.com': 'active' })
    }
    expect([ordersOf('grows.example.com'), ordersOf('more.example.com')]).toEqual([1, 1])
    expect((await handshake(panel.sitesTlsPort, 'grows.example.com')).certificate.fingerprint256).toBe(first)
  })

  test('while certificates change, no request is lost', async () => {
    const site = await create('busy.example.com')
    await untilStates(site.id, { 'busy.example.com': 'active' })
    let isDone = false
    const answers = new Map<number, number>()
    const visitor = async () => {
      while (!isDone) {
        const { status } = await get(panel.sitesTlsPort, 'busy.example.com')
        answers.set(status, (answers.get(status) ?? 0) + 1)
      }
    }
    const visitors = [visitor(), visitor()]
    for (const name of ['one.busy.example.com', 'two.busy.example.com']) {
      const other = await create(name)
      await untilStates(other.id, { [name]: 'active' })
    }
    isDone = true
    await Promise.all(visitors)
    expect([...answers.keys()]).toEqual([200])
    expect(answers.get(200)).toBeGreaterThan(20)
  })

  test('it is renewed in the last third of its life, once, with another key', async () => {
    const site = await create('renewed.example.com')
    await untilStates(site.id, { 'renewed.example.com': 'active' })
    await panel.services.certificates.seeToDue()
    const first = (await handshake(panel.sitesTlsPort, 'renewed.example.com')).certificate.fingerprint256
    const [firstKey] = keysOf(site)
    panel.clock.advance(58 * DAY)
    await panel.services.certificates.seeToDue()
    expect((await handshake(panel.sitesTlsPort, 'renewed.example.com')).certificate.fingerprint256).toBe(first)
    panel.clock.advance(3 * DAY)
    await panel.services.certificates.seeToDue()
    ada.token = await panel.login(ada.email)
    await until('another certificate', async () => {
      return (await handshake(panel.sitesTlsPort, 'renewed.example.com')).certificate.fingerprint256 !== first
    })
    await until('another key alone', () => {
      const names = keysOf(site).map(({ name }) => name)
      return names.length === 1 && names[0] !== firstKey?.name
    })
    // To this clock the new one is in its last third as well: it stays for two days all the same.
    panel.clock.advance(DAY)
    await panel.services.certificates.seeToDue()
    expect(ordersOf('renewed.example.com')).toBe(2)
  })

  test('with the site its keys go', async () => {
    ada.token = await panel.login(ada.email)
    const site = await create('gone.example.com')
    await untilStates(site.id, { 'gone.example.com': 'active' })
    const [key] = keysOf(site)
    await panel.delete(`/sites/${site.id}`, ada.token)
    await until('the keys are gone', () => !readdirSync(join(panel.data, 'tls/sites')).includes(`${site.id}`))
    expect(key).toBeDefined()
    await until('it is served no more', async () => {
      return (await handshake(panel.sitesTlsPort, 'gone.example.com')).certificate.subject === 'CN=no-site-here.invalid'
    })
  })
})

describe.skipIf(!pebbleIsInstalled)('across restarts', () => {
  const data = newDirectory()
  afterAll(() => rmSync(data, { recursive: true, force: true }))

  test('what is served stays, nothing is ordered again, and a lost key is replaced after a day', async () => {
    let panel = await openPanel({ data })
    const ada = await panel.customer()
    await panel.subscription(ada.id)
    const body = { domain: 'stays.example.com' }
    const { id } = (await panel.post<Site>('/sites', ada.token, body)).data
    const isActive = async () =>
      (await panel.get<Site>(`/sites/${id}`, await panel.login(ada.email))).data.tls.state === 'active'
    await until('the certificate', isActive)
    const rows = async () => (await panel.services.store.read.select().from(certificates)).map((row) => row.id)
    const before = await rows()
    const { fingerprint256 } = (await handshake(panel.sitesTlsPort, 'stays.example.com')).certificate
    for (let turn = 0; turn < 3; turn++) {
      await panel.stop()
      panel = await openPanel({ data })
      await until('the certificate', async () => {
        return (await handshake(panel.sitesTlsPort, 'stays.example.com')).certificate.fingerprint256 === fingerprint256
      })
      await panel.services.certificates.seeToDue()
      expect(await rows()).toEqual(before)
    }

    rmSync(join(data, 'tls/sites'), { recursive: true })
    await panel.stop()
    panel = await openPanel({ data })
    await until('the loss', async () => (await rows()).length === 0)
    await panel.services.certificates.seeToDue()
    expect(await rows()).toEqual([])
    panel.clock.advance(DAY + 1)
    await panel.services.certificates.seeToDue()
    await until('another certificate', isActive)
    await panel.stop()
  })

  test('one that was ordered when the panel died is not ordered again for an hour', async () => {
    const data = newDirectory()
    const open = () => openPanel({ data, sitesHost: '127.0.0.1' })
    let panel = await open()
    const ada = await panel.customer()
    await panel.subscription(ada.id)
    // The authority waits there for an answer, which gives time to stop.
    const never = Promise.withResolvers<Response>()
    const slow = Bun.serve({ hostname: '127.0.0.3', port: authority.proofPort, fetch: () => never.promise })
    await authority.setAddresses('slow.example.com', { a: ['127.0.0.3'] })
    const { id } = (await panel.post<Site>('/sites', ada.token, { domain: 'slow.example.com' })).data
    const tls = async () => (await panel.get<Site>(`/sites/${id}`, await panel.login(ada.email))).data.tls
    const { store } = panel.services
    await until('the order', async () => (await store.read.select().from(certificates)).some(({ csr }) => csr))
    const [row] = await store.read.select().from(certificates)
    const interrupted = { state: 'failed', names: [{ reason: expect.stringContaining('stopped') }] }
    for (let turn = 0; turn < 3; turn++) {
      await panel.stop()
      panel = await open()
      await panel.services.certificates.seeToDue()
      expect(await tls()).toMatchObject(interrupted)
      expect(await panel.services.store.read.select().from(certificates)).toEqual([])
      // As one leaves it that is killed.
      await panel.services.writeAs(panelItself, async (tx) => {
        if (row) await tx.insert(certificates).values({ ...row, id: row.id + turn + 1 })
        await tx.update(certificateNames).set({ state: 'ordering', reason: null })
      })
    }
    await slow.stop(true)
    await authority.setAddresses('slow.example.com', { a: ['127.0.0.1'] })
    panel.clock.advance(HOUR + 1)
    await panel.services.certificates.seeToDue()
    await until('the certificate', async () => (await tls()).state === 'active')
    await panel.stop()
    rmSync(data, { recursive: true })
  })
})

describe.skipIf(!pebbleIsInstalled)('on IPv4 alone', () => {
  test('an AAAA record that leads to another server is named, with what to do', async () => {
    const panel = await openPanel({ sitesHost: '127.0.0.1' })
    const other = Bun.serve({ hostname: '::1', port: authority.proofPort, fetch: () => new Response('another server') })
    const ada = await panel.customer()
    await panel.subscription(ada.id)
    await setAddresses('both.example.com', { a: ['127.0.0.1'], aaaa: ['::1'] })
    const { id } = (await panel.post<Site>('/sites', ada.token, { domain: 'both.example.com' })).data
    const tls = async () => (await panel.get<Site>(`/sites/${id}`, ada.token)).data.tls
    await until('the check', async () => (await tls()).state === 'unverified')
    expect((await tls()).names[0]?.reason).toBe(
      `both.example.com leads to ::1, this server, but something else answers on port ${authority.proofPort} there; ask your provider`,
    )
    await other.stop(true)
    await panel.stop()
  })

  test('a server that answers elsewhere is named, and followed nowhere', async () => {
    const panel = await openPanel({ sitesHost: '127.0.0.1' })
    const asked: string[] = []
    const other = Bun.serve({
      hostname: '127.0.0.2',
      port: authority.proofPort,
      fetch(request) {
        asked.push(new URL(request.url).pathname)
        return request.headers.get('host')?.startsWith('moved')
          ? new Response(null, { status: 302, headers: { location: 'http://127.0.0.1/secret' } })
          : new Response('another server')
      },
    })
    const ada = await panel.customer()
    await panel.subscription(ada.id)
    for (const name of ['other.example.com', 'moved.example.com']) await setAddresses(name, { a: ['127.0.0.2'] })
    const body = { domain: 'other.example.com', aliases: ['moved.example.com'] }
    const { id } = (await panel.post<Site>('/sites', ada.token, body)).data
    const tls = async () => (await panel.get<Site>(`/sites/${id}`, ada.token)).data.tls
    await until('the check', async () => (await tls()).state === 'unverified')
    expect((await tls()).names.map(({ reason }) => reason)).toEqual([
      'other.example.com leads to 127.0.0.2, where another server answers; set its A record to 127.0.0.1',
      expect.stringContaining(
        'moved.example.com leads to 127.0.0.2, which redirects to another address; let it answer',
      ),
    ])
    expect(asked.every((path) => path.startsWith('/.well-known/acme-challenge/'))).toBeTrue()
    expect(asked).toHaveLength(2)
    await other.stop(true)
    await panel.stop()
  })
})
