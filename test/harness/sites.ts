/** Sites in real directories, served through a real listener, and requests to it byte for byte. */
import { afterAll } from 'bun:test'
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { createSiteFetch, type SiteRequest } from '../../src/embedded/fetch.ts'
import { openSiteListener } from '../../src/embedded/listener.ts'
import type { ServedSite } from '../../src/embedded/site.ts'
import { newDirectory } from './directory.ts'
import { createTestLog } from './log.ts'

export const PROBE_TOKEN = 'a1b2c3d4e5f60718293a4b5c6d7e8f90'
export const OWN_HOST = 'panel.test'

export type Files = Record<string, string | Uint8Array>

export type SiteAnswer = {
  status: number
  head: string
  headers: Headers
  bytes: Buffer
  /** The body as UTF-8. */
  text: string
}

export type AskOptions = {
  method?: string
  /** Of a site; by default that of the only one. */
  host?: string
  headers?: Record<string, string>
}

export type Sites = ReturnType<typeof openSites>

/** Open until the tests of a file are done. */
export function openSites() {
  const directory = realpathSync(newDirectory('ncp-sites-'))
  const table = new Map<string, ServedSite>()
  const log = createTestLog()
  const observed: SiteRequest[] = []
  let added = 0
  const fetch = createSiteFetch({
    sites: { find: (host) => table.get(host) },
    isOwnHost: (host) => host === OWN_HOST,
    probeToken: PROBE_TOKEN,
    log,
    observe: (request) => observed.push(request),
  })
  const listener = openSiteListener({ fetch, host: undefined, port: 0 })
  afterAll(async () => {
    await listener.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  function write(root: string, files: Files): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), content)
    }
  }

  return {
    directory,
    table,
    log,
    observed,
    listener,
    write,

    /** Adds a site. @returns its root */
    add(host: string, files: Files, site: Partial<ServedSite> = {}): string {
      const id = ++added
      const root = join(directory, `site-${id}`)
      mkdirSync(root)
      write(root, files)
      table.set(host, { id, subscriptionId: 1, generation: 1, state: 'serving', root, spa: false, ...site })
      return root
    },

    /** @param path sent as it is, so that no client tidies it up */
    async ask(path: string, { method = 'GET', host = 'a.test', headers = {} }: AskOptions = {}): Promise<SiteAnswer> {
      const lines = Object.entries({ host, ...headers, connection: 'close' }).map(
        ([name, value]) => `${name}: ${value}`,
      )
      return readAnswer(await this.send(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`))
    },

    /** @returns everything that comes until the connection is closed */
    send(request: string | Uint8Array, address = '127.0.0.1'): Promise<Buffer> {
      return new Promise((resolve, reject) => {
        const received: Buffer[] = []
        const socket = connect({ host: address, port: listener.port }, () =>
          socket.write(typeof request === 'string' ? Buffer.from(request, 'latin1') : request),
        )
        socket.on('data', (chunk: Buffer) => received.push(chunk))
        socket.on('close', () => resolve(Buffer.concat(received)))
        socket.on('error', (error: NodeJS.ErrnoException) => {
          // A server that refuses may reset the connection while the request is still being written.
          if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
        })
      })
    },
  }
}

/** @throws Error for what is no whole response */
export function readAnswer(received: Buffer): SiteAnswer {
  const end = received.indexOf('\r\n\r\n')
  const head = received.subarray(0, end).toString('latin1')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
  if (end === -1 || !status) throw new Error(`no response: ${received.toString('latin1').slice(0, 200)}`)
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    }),
  )
  const bytes = received.subarray(end + 4)
  return { status, head, headers, bytes, text: bytes.toString() }
}
