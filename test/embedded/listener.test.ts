/** Large files and slow clients, and the end of the listener. */
import { expect, test } from 'bun:test'
import {
  appendFileSync,
  chmodSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createSiteFetch } from '../../src/embedded/fetch.ts'
import { openSiteListener } from '../../src/embedded/listener.ts'
import { createTestLog } from '../harness/log.ts'
import { openSites, readAnswer } from '../harness/sites.ts'
import { until } from '../harness/until.ts'

const sites = openSites()
const root = sites.add('a.test', { 'index.html': 'the index' })
const MIB = 1024 * 1024
/** Longer than a test may take. */
const NEVER_MS = 600_000

/** The descriptors of this process that lead to files of the sites. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`)
      return path.startsWith(sites.directory) ? [path] : []
    } catch {
      return []
    }
  })
}

/** Sends a request and reads nothing until it is told to. */
function slowClient(path: string) {
  const received: Buffer[] = []
  const socket = connect({ host: '127.0.0.1', port: sites.listener.port }, () => {
    socket.pause()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`)
  })
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  return {
    async read(): Promise<Buffer> {
      socket.resume()
      await closed
      return Buffer.concat(received)
    },
    hangUp: () => socket.destroy(),
  }
}

test('many large and small files at once: each client gets its own', async () => {
  const count = 40
  const sizeOf = (at: number) => (at % 2 === 0 ? 70_000 + at * 1000 : 100 + at)
  for (let at = 0; at < count; at++) writeFileSync(join(root, `${at}.bin`), Buffer.alloc(sizeOf(at), at + 1))
  const url = `http://127.0.0.1:${sites.listener.port}`
  await Promise.all(
    Array.from({ length: 30 }, async (_, client) => {
      for (let turn = 0; turn < count; turn++) {
        const at = (client * 7 + turn * 3) % count
        const ranged = (client + turn) % 3 === 0
        const response = await fetch(`${url}/${at}.bin`, {
          headers: { host: 'a.test', ...(ranged && { range: `bytes=1-${sizeOf(at) - 2}` }) },
        })
        const bytes = Buffer.from(await response.arrayBuffer())
        expect([response.status, bytes.length]).toEqual(ranged ? [206, sizeOf(at) - 2] : [200, sizeOf(at)])
        expect(bytes.equals(Buffer.alloc(bytes.length, at + 1))).toBeTrue()
      }
    }),
  )
  await until('all files to be closed', () => openFiles().length === 0)
})

test('pipelined requests for large files are answered in order', async () => {
  const requests = [0, 2, 4, 6, 8].map(
    (at) => `GET /${at}.bin HTTP/1.1\r\nHost: a.test\r\n${at === 8 ? 'Connection: close\r\n' : ''}\r\n`,
  )
  let rest = await sites.send(requests.join(''))
  for (const at of [0, 2, 4, 6, 8]) {
    const { status, headers, bytes } = readAnswer(rest)
    const length = Number(headers.get('content-length'))
    expect([status, length]).toEqual([200, 70_000 + at * 1000])
    expect(bytes.subarray(0, length).equals(Buffer.alloc(length, at + 1))).toBeTrue()
    rest = bytes.subarray(length)
  }
  expect(rest.length).toBe(0)
})

test('clients that read nothing hold no memory, and those that hang up no file', async () => {
  truncateSync(join(root, '0.bin'), 64 * MIB)
  Bun.gc(true)
  const before = process.memoryUsage().rss
  const clients = Array.from({ length: 20 }, () => slowClient('/0.bin'))
  await until('the files to be sent', () => openFiles().length === clients.length)
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * MIB)
  for (const client of clients) client.hangUp()
  await until('all files to be closed', () => openFiles().length === 0)
})

test('a file that is replaced or removed while it is sent arrives as it was', async () => {
  const content = Buffer.alloc(32 * MIB, 'a')
  for (const change of [
    () => {
      writeFileSync(join(root, 'new.bin'), Buffer.alloc(32 * MIB, 'b'))
      renameSync(join(root, 'new.bin'), join(root, 'changing.bin'))
    },
    () => rmSync(join(root, 'changing.bin')),
  ]) {
    writeFileSync(join(root, 'changing.bin'), content)
    const client = slowClient('/changing.bin')
    await until('the files to be sent', () => openFiles().length === 1)
    change()
    const { status, bytes } = readAnswer(await client.read())
    expect([status, bytes.equals(content)]).toEqual([200, true])
  }
})

test('a file that grows while it is sent is sent up to the length that was announced', async () => {
  writeFileSync(join(root, 'growing.bin'), Buffer.alloc(32 * MIB, 'a'))
  const client = slowClient('/growing.bin')
  await until('the files to be sent', () => openFiles().length === 1)
  appendFileSync(join(root, 'growing.bin'), 'more')
  const { headers, bytes } = readAnswer(await client.read())
  expect([headers.get('content-length'), bytes.length]).toEqual([`${32 * MIB}`, 32 * MIB])
})

test('a file that may not be read is not found', async () => {
  writeFileSync(join(root, 'private.txt'), 'x')
  chmodSync(join(root, 'private.txt'), 0)
  // Root reads everything.
  const isRoot = process.getuid?.() === 0
  expect((await sites.ask('/private.txt')).status).toBe(isRoot ? 200 : 404)
})

/** Asks for a file while no more files can be opened, and again when they can. */
const EXHAUSTED = `
  import { closeSync, openSync } from 'node:fs'
  const { createSiteFetch } = await import(process.argv[1])
  const site = { id: 1, generation: 1, state: 'serving', root: process.argv[2], spa: false }
  const logged = []
  const fetch = createSiteFetch({
    sites: { find: () => site },
    isOwnHost: () => false,
    probeToken: 'x',
    log: { error: (_, message) => logged.push(message) },
  })
  const ask = async () => (await fetch(new Request('http://a.test/', { headers: { host: 'a.test' } }))).status
  const before = await ask()
  const open = []
  try {
    for (;;) open.push(openSync('/dev/null'))
  } catch {}
  const during = await ask()
  open.forEach((descriptor) => closeSync(descriptor))
  console.log(JSON.stringify([before, during, await ask(), logged]))`

test('too many open files: 503 until there are fewer', () => {
  const module = join(import.meta.dir, '../../src/embedded/fetch.ts')
  const limited = ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh', process.execPath, '-e', EXHAUSTED, module, root]
  const { stdout } = Bun.spawnSync(limited, { stderr: 'inherit' })
  expect(JSON.parse(stdout.toString())).toEqual([200, 503, 200, []])
})

test('a failure is logged with its site and answered with a page', async () => {
  const log = createTestLog()
  const failing = createSiteFetch({
    sites: {
      find: (host) => {
        if (host === 'table.test') throw new Error('the table is gone')
        return { id: 7, subscriptionId: 1, generation: 1, state: 'serving', root: '/\0', spa: false }
      },
    },
    isOwnHost: () => false,
    probeToken: 'x',
    log,
  })
  for (const [host, site_id] of [
    ['a.test', 7],
    ['table.test', undefined],
  ] as const) {
    const response = await failing(new Request(`http://${host}/`, { headers: { host } }))
    expect(response.status).toBe(500)
    expect(await response.text()).toContain('<h1>Something went wrong</h1>')
    expect(log.lines.at(-1)).toMatchObject({ msg: 'a file of a site could not be sent', site_id })
  }
})

test('at the end, requests in flight are finished and new connections refused', async () => {
  const release = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const listener = openSiteListener({
    host: '127.0.0.1',
    port: 0,
    async fetch() {
      begun.resolve()
      await release.promise
      return new Response('done')
    },
  })
  const url = `http://127.0.0.1:${listener.port}/`
  const pending = fetch(url)
  await begun.promise
  const stopped = listener.stop(NEVER_MS)
  await expect(fetch(url, { keepalive: false })).rejects.toThrow()
  release.resolve()
  expect(await (await pending).text()).toBe('done')
  await stopped
})

test('a connection that is open and idle does not delay the end', async () => {
  const listener = openSiteListener({ host: '127.0.0.1', port: 0, fetch: () => new Response('answered') })
  const socket = connect({ host: '127.0.0.1', port: listener.port })
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  await new Promise<void>((resolve) => {
    socket.on('data', () => resolve())
    socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
  })
  await listener.stop(NEVER_MS)
  await closed
})

test('a request that takes too long is cut off', async () => {
  const begun = Promise.withResolvers<void>()
  const listener = openSiteListener({
    host: '127.0.0.1',
    port: 0,
    fetch() {
      begun.resolve()
      return new Promise(() => {})
    },
  })
  const pending = fetch(`http://127.0.0.1:${listener.port}/`).then(
    () => 'answered',
    () => 'cut',
  )
  await begun.promise
  await listener.stop(0)
  expect(await pending).toBe('cut')
})

test('a handler that fails gets a page of ours', async () => {
  const listener = openSiteListener({
    host: '127.0.0.1',
    port: 0,
    fetch() {
      throw new Error('broken')
    },
  })
  const response = await fetch(`http://127.0.0.1:${listener.port}/`)
  expect([response.status, response.headers.get('content-type')]).toEqual([500, 'text/html;charset=utf-8'])
  await listener.stop()
})

test('a port that is taken is an error', () => {
  const { port } = sites.listener
  expect(() => openSiteListener({ fetch: () => new Response(), host: undefined, port })).toThrow('in use')
})
