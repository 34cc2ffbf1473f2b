/** What a site answers by its state, to each method, and to the probe of the reconciler. */
import { expect, test } from 'bun:test'
import { newToken } from '../../src/crypto/secret.ts'
import { probePath } from '../../src/embedded/probe.ts'
import { OWN_HOST, openSites, PROBE_TOKEN } from '../harness/sites.ts'

const sites = openSites()
const files = { 'index.html': 'the index', '.well-known/acme-challenge/x': 'x', '404.html': 'own', '.env': 'secret' }
sites.add('a.test', files, { generation: 4 })
sites.add('new.test', {}, { root: undefined })
sites.add('suspended.test', files, { state: 'suspended', generation: 2 })
sites.add('disabled.test', files, { state: 'disabled' })
sites.add('new-suspended.test', {}, { state: 'suspended', root: undefined })
sites.add(OWN_HOST, files)

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']

test.each([
  ['suspended.test', 'Site suspended'],
  ['disabled.test', 'Site switched off'],
  ['new-suspended.test', 'Site suspended'],
])('%s is 503 at each path, by each method', async (host, title) => {
  const paths = [
    '/',
    '/index.html',
    '/missing',
    '/.env',
    '/x.php',
    '/.well-known/acme-challenge/x',
    '/..%2f',
    '/%00',
    '//',
  ]
  for (const method of METHODS) {
    for (const path of paths) {
      const { status, headers, text } = await sites.ask(path, { host, method })
      expect([method, path, status]).toEqual([method, path, 503])
      expect(headers.get('retry-after')).toBe('3600')
      expect(headers.get('cache-control')).toBe('no-store')
      if (method === 'HEAD') expect(text).toBe('')
      else expect(text).toContain(`<h1>${title}</h1>`)
    }
  }
})

test('a suspension and its end show at once, also on an open connection', async () => {
  const serving = sites.table.get('a.test')
  if (!serving) throw new Error('no site')
  const statuses: number[] = []
  const url = `http://127.0.0.1:${sites.listener.port}/`
  for (const state of ['serving', 'suspended', 'serving', 'disabled', 'serving'] as const) {
    sites.table.set('a.test', { ...serving, state })
    const response = await fetch(url, { headers: { host: 'a.test' } })
    await response.text()
    statuses.push(response.status)
  }
  expect(statuses).toEqual([200, 503, 200, 503, 200])
})

test('a site without a deployment shows that it waits for one', async () => {
  for (const path of ['/', '/any/path', '/x.php']) {
    const { status, headers, text } = await sites.ask(path, { host: 'NEW.test:8080' })
    expect(status).toBe(200)
    expect(text).toContain('<h1>This site waits for its first deployment</h1>')
    expect(text).toContain('<b>new.test</b>')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-robots-tag')).toBe('noindex')
  }
  expect((await sites.ask('/', { host: 'new.test', method: 'POST' })).status).toBe(405)
})

test('only GET and HEAD', async () => {
  for (const method of METHODS.filter((method) => method !== 'GET' && method !== 'HEAD')) {
    for (const path of ['/', '/missing', '/.env', '/x.php']) {
      const { status, headers } = await sites.ask(path, { method })
      expect([method, path, status]).toEqual([method, path, 405])
      expect(headers.get('allow')).toBe('GET, HEAD')
    }
  }
  expect(
    (await sites.send('CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')).toString(),
  ).toMatch(/^HTTP\/1\.1 405 /)
})

test('a large body is refused with an answer that its sender can read', async () => {
  const url = `http://127.0.0.1:${sites.listener.port}/`
  const response = await fetch(url, { method: 'POST', headers: { host: 'a.test' }, body: new Uint8Array(8_000_000) })
  expect(response.status).toBe(405)
  expect(await response.text()).toContain('<h1>Method not allowed</h1>')
})

test('pages of ours run nothing and load nothing', async () => {
  for (const [host, path] of [
    ['a.test', '/%00'],
    ['new.test', '/'],
    ['suspended.test', '/'],
    ['disabled.test', '/'],
    ['unknown.test', '/'],
  ] as const) {
    const { headers, text } = await sites.ask(path, { host })
    const [, style = ''] = /<style>(.*)<\/style>/s.exec(text) ?? []
    const hash = Bun.SHA256.hash(style, 'base64')
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
    expect(headers.get('content-type')).toBe('text/html;charset=utf-8')
    expect(text).not.toMatch(/<script|src=|href=|url\(|http:/)
    expect(Buffer.byteLength(text)).toBeLessThan(1000)
  }
})

test('no answer names the server, sets a cookie or asks for HTTPS, and each forbids guessing the type', async () => {
  for (const host of ['a.test', 'new.test', 'suspended.test', 'unknown.test', '']) {
    for (const [method, path] of [
      ['GET', '/'],
      ['HEAD', '/'],
      ['GET', '/missing'],
      ['POST', '/'],
      ['GET', '/%00'],
    ] as const) {
      const { headers } = await sites.ask(path, { host, method })
      for (const name of ['server', 'set-cookie', 'strict-transport-security', 'x-powered-by']) {
        expect(headers.get(name)).toBeNull()
      }
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('date')).toMatch(/ GMT$/)
    }
  }
})

test('the probe tells which generation is served, in each state', async () => {
  for (const [host, answer] of [
    ['a.test', { site: 1, generation: 4, state: 'serving' }],
    ['A.test.:8080', { site: 1, generation: 4, state: 'serving' }],
    ['new.test', { site: 2, generation: 1, state: 'serving' }],
    ['suspended.test', { site: 3, generation: 2, state: 'suspended' }],
    ['disabled.test', { site: 4, generation: 1, state: 'disabled' }],
  ] as const) {
    const { status, headers, text } = await sites.ask(probePath(PROBE_TOKEN), { host })
    expect([status, JSON.parse(text)]).toEqual([200, answer])
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-type')).toBe('application/json')
  }
})

test('the probe answers for no host without a site, and not under the name of the panel', async () => {
  for (const host of ['unknown.test', OWN_HOST]) {
    expect((await sites.ask(probePath(PROBE_TOKEN), { host })).status).toBe(404)
  }
})

test('any other token is a path like all others', async () => {
  for (const token of [
    '',
    'x',
    newToken(),
    PROBE_TOKEN.slice(1),
    `${PROBE_TOKEN}0`,
    PROBE_TOKEN.toUpperCase(),
    `${PROBE_TOKEN}/`,
  ]) {
    const answer = await sites.ask(probePath(token))
    expect([answer.status, answer.text]).toEqual([404, 'own'])
    expect((await sites.ask(probePath(token), { host: 'suspended.test' })).status).toBe(503)
  }
  expect((await sites.ask(probePath(PROBE_TOKEN), { method: 'POST' })).status).toBe(405)
})

test('each request is observed once, with its site', async () => {
  sites.observed.length = 0
  await sites.ask('/')
  await sites.ask('/', { host: 'unknown.test' })
  await sites.ask('/', { host: 'suspended.test', method: 'POST' })
  await sites.ask('/', { host: 'a b' })
  expect(sites.observed.map(({ siteId, request, status }) => ({ siteId, method: request.method, status }))).toEqual([
    { siteId: 1, method: 'GET', status: 200 },
    { siteId: undefined, method: 'GET', status: 404 },
    { siteId: 3, method: 'POST', status: 503 },
    { siteId: undefined, method: 'GET', status: 400 },
  ])
  for (const { peer } of sites.observed) expect(peer).toMatch(/127\.0\.0\.1$/)
})
