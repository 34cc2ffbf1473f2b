/** The proxies of docs/operations/proxy.md, as they stand there, in front of the compiled binary. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { freePort } from '../../harness/port.ts'
import { stopped } from '../../harness/program.ts'
import { type Asked, ask, CLIENT, commandOf, installed, PROXY_PATH, type ProxyName } from '../../harness/proxies.ts'
import { until } from '../../harness/until.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const page = readFileSync(join(import.meta.dir, '../../../docs/operations/proxy.md'), 'utf8')
/** @param number counted from 0, where the page has several of the language */
function block(language: string, number = 0): string {
  const text = [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))][number]?.[1]
  if (text === undefined) throw new Error(`the page has no block ${number} of ${language}`)
  return text
}

let here: Installation
let panel: RunningBinary
let token: string
let proxy: ReturnType<typeof Bun.spawn> | undefined
beforeAll(async () => {
  here = await install()
  mkdirSync(here.path('proxy'))
  writeFileSync(here.path('ncp.toml'), block('toml').replace('["127.0.0.1"]', '["127.0.0.1", "127.0.0.8"]'))
  panel = await here.serve(['--config', 'ncp.toml'], { NCP_CORS_ORIGINS: 'https://app.example.com' })
  token = (await panel.login('admin@localhost', here.adminPassword())).data.token
})
afterEach(async () => {
  if (proxy) await stopped(proxy, 'the proxy')
})
afterAll(() => here.remove())

/** Runs a configuration of the page over plain HTTP. @returns its port */
async function start(name: ProxyName, configuration: string, prefix = ''): Promise<number> {
  const port = await freePort()
  const command = commandOf(name, configuration, { port, panelPort: panel.port, directory: here.path('proxy') })
  proxy = Bun.spawn(command, { env: { PATH: PROXY_PATH, HOME: here.directory }, stdout: 'ignore', stderr: 'ignore' })
  await until(name, () => ask(port, `${prefix}/api/v1/auth/me`).then(({ status }) => status === 401))
  return port
}

/** The client of the next request to a path, as the panel logs it. */
async function clientOf(path: string, send: () => Promise<Asked>): Promise<unknown> {
  const before = panel.stderr().length
  await send()
  const line = await until('the line of the request', () =>
    panel
      .stderr()
      .slice(before)
      .split('\n')
      .find((text) => text.includes(path)),
  )
  return JSON.parse(line).client
}

const proxies: [ProxyName, () => string][] = [
  ['nginx', () => block('nginx')],
  ['caddy', () => block('caddyfile')],
  ['apache2', () => block('apache')],
  ['haproxy', () => block('haproxy')],
]

describe.each(proxies)('%s', (name, configuration) => {
  const proxyTest = test.skipIf(!installed(name))

  proxyTest('passes the client’s own address to the panel, whatever the client claims', async () => {
    const port = await start(name, configuration())
    const claim = { headers: { 'x-forwarded-for': '203.0.113.7', 'user-agent': name } }
    expect(await clientOf('/auth/sessions', () => ask(port, '/api/v1/auth/sessions', claim))).toBe(CLIENT)
  })

  proxyTest('passes the panel’s limits, challenges and refusals through unchanged', async () => {
    const port = await start(name, configuration())
    const refused = await ask(port, '/api/v1/auth/me')
    expect(refused.headers).toMatchObject({ 'x-ratelimit-limit': '120', 'www-authenticate': 'Bearer realm="ncp"' })
    const large = await ask(port, '/api/v1/auth/login', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'x'.repeat(100_000) }),
    })
    expect([large.status, large.headers['content-type']]).toEqual([413, 'application/json; charset=utf-8'])
  })

  proxyTest('lets a change with the ETag of a compressed read through, and refuses a stale one', async () => {
    const port = await start(name, configuration())
    const authorization = `Bearer ${token}`
    const path = '/api/v1/admin/settings'
    const read = await ask(port, path, { headers: { authorization, 'accept-encoding': 'gzip' } })
    // Caddy leaves what is short as it is, and HAProxy all of it.
    const compresses = name === 'nginx' || name === 'apache2'
    expect([read.status, read.headers['content-encoding']]).toEqual([200, compresses ? 'gzip' : undefined])
    const etag = `${read.headers.etag}`
    const known = await ask(port, path, {
      headers: { authorization, 'if-none-match': etag, 'accept-encoding': 'gzip' },
    })
    expect(known.status).toBe(304)

    const change = (ttl: number) =>
      ask(port, path, {
        method: 'PATCH',
        headers: { authorization, 'content-type': 'application/json', 'if-match': etag },
        body: JSON.stringify({ jwt_ttl_seconds: ttl }),
      })
    // Another value each time, or nothing would change.
    const ttl = 80_000 + proxies.findIndex(([other]) => other === name)
    expect((await change(ttl)).status).toBe(200)
    expect((await change(ttl + 100)).status).toBe(412)
  })

  proxyTest('sets HSTS once, and leaves CORS to the panel', async () => {
    const port = await start(name, configuration())
    const origin = 'https://app.example.com'
    const preflight = await ask(port, '/api/v1/sites', {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    })
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, origin])
    const refused = await ask(port, '/api/v1/sites', { headers: { origin } })
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, origin])
    expect(refused.headers['strict-transport-security']).toBe('max-age=31536000')
  })
})

describe('nginx', () => {
  const nginxTest = test.skipIf(!installed('nginx'))

  nginxTest('serves a frontend on the origin of the panel', async () => {
    mkdirSync(here.path('proxy', 'www'))
    writeFileSync(here.path('proxy', 'www', 'index.html'), '<!doctype html><title>app</title>')
    const port = await start('nginx', block('nginx', 2).replace('/var/www/frontend', here.path('proxy', 'www')))
    for (const path of ['/', '/sites/7']) {
      expect(await ask(port, path)).toMatchObject({ status: 200, body: expect.stringContaining('<title>app</title>') })
    }
    expect((await ask(port, '/api/docs/openapi.yaml')).status).toBe(200)
    expect((await ask(port, '/api/v1/nope')).status).toBe(404)
  })

  nginxTest('may serve the panel under a path', async () => {
    const port = await start('nginx', block('nginx', 1), '/panel')
    for (const path of ['/panel/', '/panel/sites']) {
      const [, file = ''] = /<script type="module" src="([^"]+)"/.exec((await ask(port, path)).body) ?? []
      expect((await ask(port, new URL(file, `http://x${path}`).pathname)).status).toBe(200)
    }
    const moved = await ask(port, '/panel/api/docs/')
    expect([moved.status, moved.headers.location]).toEqual([302, '../docs'])
    const { body } = await ask(port, '/panel/api/docs')
    const [, script = ''] = /<script src="([^"]+)"/.exec(body) ?? []
    expect((await ask(port, new URL(script, 'http://x/panel/api/docs').pathname)).status).toBe(200)
    expect((await ask(port, '/panel/api/docs/openapi.yaml')).body).toContain('\n  - url: /panel\n')
    const headers = { authorization: `Bearer ${token}` }
    const page = await ask(port, '/panel/api/v1/admin/audit-log?limit=1', { headers })
    const [, next = ''] = /^<([^>]+)>; rel="next"$/.exec(`${page.headers.link}`) ?? []
    expect((await ask(port, next, { headers })).status).toBe(200)
  })

  nginxTest('may address the panel by the name of an upstream, however short', async () => {
    const port = await start(
      'nginx',
      `upstream ncp { server 127.0.0.1:3443; }\n${block('nginx')
        .replace('http://127.0.0.1:3443', 'http://ncp')
        .replace(/^.*proxy_set_header Host .*\n/m, '')}`,
    )
    expect((await ask(port, '/api/v1/auth/me', { headers: { authorization: `Bearer ${token}` } })).status).toBe(200)
  })

  nginxTest('may include the client’s port, as gateways do, even in front of another proxy', async () => {
    const withPort = block('nginx').replace('$proxy_add_x_forwarded_for', '$remote_addr:$remote_port')
    const port = await start('nginx', withPort)
    expect(await clientOf('/auth/sessions', () => ask(port, '/api/v1/auth/sessions'))).toBe(CLIENT)
    const chained = block('nginx').replace('$proxy_add_x_forwarded_for', '"$http_x_forwarded_for:50001, 127.0.0.8:443"')
    if (proxy) await stopped(proxy, 'the proxy')
    const next = await start('nginx', chained)
    const gateway = { headers: { 'x-forwarded-for': '203.0.113.7' } }
    expect(await clientOf('/auth/sessions', () => ask(next, '/api/v1/auth/sessions', gateway))).toBe('203.0.113.7')
  })
})
