/** The proxies of docs/operations/proxy.md, as they stand there, in front of the compiled binary. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { type Installation, install, type RunningBinary, until } from '../harness/binary.ts'
import { freePort } from '../harness/port.ts'

// A first run compiles the binary.
setDefaultTimeout(120_000)

/** From Debian's packages nginx-light and caddy. */
const PATH = '/usr/sbin:/usr/bin:/bin'
const isInstalled = (program: string) => Bun.which(program, { PATH }) !== null
/** Another address of this machine than the proxy's: a client that nobody trusts. */
const CLIENT = '127.0.0.2'

const page = readFileSync(join(import.meta.dir, '../../docs/operations/proxy.md'), 'utf8')
const block = (language: string) => new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(page)?.[1] ?? ''

let here: Installation
let panel: RunningBinary
let proxy: ReturnType<typeof Bun.spawn> | undefined
beforeAll(async () => {
  here = await install()
  mkdirSync(here.path('proxy'))
  writeFileSync(here.path('ncp.toml'), block('toml'))
  panel = await here.serve(['--config', 'ncp.toml'])
})
afterEach(async () => {
  proxy?.kill()
  await proxy?.exited
})
afterAll(() => here.remove())

/** How each program is told to run its part of the page, over plain HTTP on a free port. */
const programs = {
  nginx: (port: number) => {
    const server = block('nginx')
      .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
      .replaceAll(/^ *ssl_.*\n/gm, '')
      .replace('127.0.0.1:3443', `127.0.0.1:${panel.port}`)
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${here.path('proxy', name)};`,
    )
    writeFileSync(
      here.path('nginx.conf'),
      // Its workers would be a user who may not enter the test's directory.
      `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; pid ${here.path('nginx.pid')}; error_log stderr; events {}
http { access_log off; ${paths.join(' ')} ${server} }`,
    )
    return ['nginx', '-e', 'stderr', '-c', here.path('nginx.conf')]
  },
  caddy: (port: number) => {
    const site = block('caddyfile')
      .replace('panel.example.com', `http://127.0.0.1:${port}`)
      .replace('127.0.0.1:3443', `127.0.0.1:${panel.port}`)
    writeFileSync(here.path('Caddyfile'), `{\n\tadmin off\n}\n${site}`)
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', here.path('Caddyfile')]
  },
}

async function start(program: keyof typeof programs): Promise<number> {
  const port = await freePort()
  const env = { PATH, HOME: here.directory }
  proxy = Bun.spawn(programs[program](port), { env, stdout: 'ignore', stderr: 'ignore' })
  await until(program, () => ask(port, '/livez').then(({ status }) => status === 200))
  return port
}

/** A request from an address that is not the proxy's. @returns status 0 while nobody answers */
function ask(port: number, path: string, headers: Record<string, string> = {}, body?: string) {
  return new Promise<{ status: number; headers: Record<string, unknown> }>((resolve) => {
    const options = { host: '127.0.0.1', port, path, localAddress: CLIENT, method: body ? 'POST' : 'GET', headers }
    const sent = request(options, (response) => {
      response.resume()
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }))
    })
    sent.on('error', () => resolve({ status: 0, headers: {} }))
    sent.end(body)
  })
}

describe.each(Object.keys(programs) as (keyof typeof programs)[])('%s', (program) => {
  test.skipIf(!isInstalled(program))(
    'tells the panel the client’s own address, whatever the client claims',
    async () => {
      const port = await start(program)
      const claim = { 'x-forwarded-for': '203.0.113.7', 'user-agent': program }
      const before = panel.stderr().length
      expect((await ask(port, '/api/v1/auth/me', claim)).status).toBe(401)
      const line = await until('the line of the request', () =>
        panel
          .stderr()
          .slice(before)
          .split('\n')
          .find((text) => text.includes('/auth/me')),
      )
      expect(JSON.parse(line)).toMatchObject({ status: 401, client: CLIENT })
    },
  )

  test.skipIf(!isInstalled(program))('passes limits, challenges and refusals of the panel on as they are', async () => {
    const port = await start(program)
    const refused = await ask(port, '/api/v1/auth/me')
    expect(refused.headers).toMatchObject({ 'x-ratelimit-limit': '120', 'www-authenticate': 'Bearer realm="ncp"' })
    const json = { 'content-type': 'application/json' }
    const large = await ask(port, '/api/v1/auth/login', json, JSON.stringify({ email: 'x'.repeat(100_000) }))
    expect([large.status, large.headers['content-type']]).toEqual([413, 'application/json; charset=utf-8'])
  })
})
