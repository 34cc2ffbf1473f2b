/** A client between which and its panel somebody stands: not one byte of the key leaves for a certificate that was not accepted. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { type SeenCertificate, seeCertificate } from '../../src/client/fingerprint.ts'
import { openPanel } from '../../src/client/panel.ts'
import { findTarget } from '../../src/client/target.ts'
import { readClientEnvironment } from '../../src/config/load.ts'
import { createTestAuthority } from '../harness/certificates.ts'
import { newDirectory } from '../harness/directory.ts'

const directories: string[] = []
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})
function newPlace(): string {
  const directory = newDirectory()
  directories.push(directory)
  return directory
}

const KEY = `ncp_${'5e'.repeat(32)}`
const ANSWER = JSON.stringify({ data: 'proven', error: null, message: '' })

const open: { close?(): unknown; stop?(): unknown }[] = []
let authority: Awaited<ReturnType<typeof createTestAuthority>>
beforeAll(async () => {
  authority = await createTestAuthority(Date.now())
})
afterAll(() => {
  for (const one of open) (one.close ?? one.stop)?.call(one)
})

/** @param next the certificate of all connections but the first, as of somebody who waits for the look at the first */
async function listen(certificate: { certificate: string; private_key: string }, next = certificate) {
  let text = ''
  let connections = 0
  const answer = (socket: TLSSocket) => {
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      socket.end(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`,
      )
    })
  }
  const [first, other] = [certificate, next].map((one) =>
    createServer({ cert: one.certificate, key: one.private_key }, answer),
  )
  const [firstPort, otherPort] = await Promise.all([first, other].map((server) => portOf(server as Server)))
  // In front of both: it decides which of them a connection meets.
  const front = Bun.listen<{ peer?: Bun.Socket }>({
    hostname: '127.0.0.1',
    port: 0,
    data: {},
    socket: {
      async open(client) {
        client.pause()
        const port = Number(connections++ === 0 ? firstPort : otherPort)
        client.data = {
          peer: await Bun.connect({
            hostname: '127.0.0.1',
            port,
            socket: {
              data: (_, chunk) => void client.write(chunk),
              close: () => void client.end(),
            },
          }),
        }
        client.resume()
      },
      data: (client, chunk) => void client.data.peer?.write(chunk),
      close: (client) => void client.data.peer?.end(),
    },
  })
  open.push(front, first as Server, other as Server)
  return { url: new URL(`https://127.0.0.1:${front.port}`), received: () => text, connections: () => connections }
}

function portOf(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
  })
}

const ask = async (url: URL, fingerprint?: string) =>
  (await openPanel({ url, key: KEY, fingerprint })).ask<string>('/auth/me')
const issue = (names = ['panel.example.com']) => authority.issue({ names })

describe('a panel that is known by its fingerprint', () => {
  test('is used, whatever names its certificate has, and gets the key', async () => {
    const panel = await listen(await issue())
    const { fingerprint, problem } = await seeCertificate(panel.url)
    expect(problem).not.toBe('')
    expect((await ask(panel.url, fingerprint)).data).toBe('proven')
    expect(panel.received()).toContain(KEY)
  })

  test('gets nothing once another certificate is shown', async () => {
    const known = await seeCertificate((await listen(await issue())).url)
    const impostor = await listen(await issue())
    await expect(ask(impostor.url, known.fingerprint)).rejects.toThrow('shows another certificate')
    expect(impostor.received()).toBe('')
  })

  test('gets nothing when the other comes only after the first look', async () => {
    const known: SeenCertificate = await seeCertificate((await listen(await issue())).url)
    const own = await issue()
    const right = await listen(own)
    const { fingerprint } = await seeCertificate(right.url)
    expect(fingerprint).not.toBe(known.fingerprint)
    const impostor = await listen(own, await issue())
    await expect(ask(impostor.url, fingerprint)).rejects.toThrow('cannot be used')
    expect([impostor.connections(), impostor.received()]).toEqual([2, ''])
  })

  test('that no authority vouches for gets nothing without a fingerprint', async () => {
    const panel = await listen(await issue(['127.0.0.1']))
    await expect(ask(panel.url)).rejects.toThrow("Run 'ncp login'")
    expect(panel.received()).toBe('')
  })
})

describe('a key', () => {
  const environment = (variables: Record<string, string>) =>
    readClientEnvironment({ XDG_CONFIG_HOME: newPlace(), ...variables })

  test.each(['http://panel.example.com', 'http://10.0.0.7:3443', 'ftp://localhost', 'https://user@panel.example.com'])(
    'is not sent to %s',
    async (url) => {
      const found = findTarget(environment({ NCP_URL: url, NCP_KEY: KEY }), undefined)
      await expect(found).rejects.toThrow('NCP_URL: must')
    },
  )

  test('goes through no proxy of the environment, also over HTTP to this machine', async () => {
    let seen = 0
    const proxy = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { open: () => void seen++, data: () => undefined },
    })
    open.push(proxy)
    let asked = ''
    const plain = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        asked = request.headers.get('authorization') ?? ''
        return new Response(ANSWER)
      },
    })
    open.push(plain)
    const program = `
      import { openPanel } from '${import.meta.dir}/../../src/client/panel.ts'
      const panel = await openPanel({ url: new URL('${plain.url.origin}'), key: '${KEY}', fingerprint: undefined })
      console.log((await panel.ask('/auth/me')).data)`
    const address = `http://127.0.0.1:${proxy.port}`
    const child = Bun.spawn([process.execPath, '-e', program], {
      env: { HTTP_PROXY: address, http_proxy: address, HTTPS_PROXY: address, https_proxy: address, ALL_PROXY: address },
      stdout: 'pipe',
    })
    expect(await new Response(child.stdout).text()).toBe('proven\n')
    expect([asked, seen]).toEqual([`Bearer ${KEY}`, 0])
  })

  test('follows no redirect', async () => {
    let seen = 0
    const elsewhere = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(`${++seen}`) })
    const panel = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => Response.redirect(`${elsewhere.url.origin}/api/v1/auth/me`, 307),
    })
    open.push(elsewhere, panel)
    await expect(ask(new URL(panel.url.origin))).rejects.toThrow('answers 307')
    expect(seen).toBe(0)
  })
})
