/** Publishes the answer to an ACME challenge: on a port of our own, or in the files of a web server. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PublishChallenge } from './client.ts'

const PATH = '/.well-known/acme-challenge'

/** Into the files of a web server that serves port 80. */
export function publishInWebroot(webroot: string): PublishChallenge {
  return async (token, answer) => {
    const directory = join(webroot, PATH)
    mkdirSync(directory, { recursive: true, mode: 0o755 })
    const file = join(directory, token)
    writeFileSync(file, answer, { mode: 0o644 })
    return () => rmSync(file, { force: true })
  }
}

/** On a port that is open for as long as a challenge is, and answers nothing else. */
export function publishOnPort(port: number): PublishChallenge {
  return async (token, answer) => {
    const server = open(port, (request) => {
      // Without a host, or with a wrong one, it is a path alone.
      const path = URL.parse(request.url, 'http://localhost')?.pathname
      return path === `${PATH}/${token}` ? new Response(answer) : new Response(null, { status: 404 })
    })
    return () => server.stop(true)
  }
}

function open(port: number, fetch: (request: Request) => Response): Bun.Server<undefined> {
  try {
    return Bun.serve({ port, hostname: '::', reusePort: false, development: false, fetch })
  } catch (error) {
    const { code } = error as { code?: unknown }
    throw new Error(
      `port ${port} for the ACME challenge cannot be opened (${code}): set NCP_ACME_HTTP_PORT to a free port that port 80 leads to, or set NCP_ACME_WEBROOT`,
    )
  }
}
