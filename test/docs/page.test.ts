/** The reference page over HTTP: what it is made of, its headers, and that nothing in it leads to another origin. */
import { describe, expect, test } from 'bun:test'
import { usePanel } from '../harness/panel.ts'

const ASSETS = [
  ['/api/docs', 'text/html; charset=utf-8', 'swagger-ui'],
  ['/api/docs/start.js', 'text/javascript; charset=utf-8', 'SwaggerUIBundle'],
  ['/api/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8', 'SwaggerUIBundle'],
  ['/api/docs/swagger-ui.css', 'text/css; charset=utf-8', '.swagger-ui'],
  ['/api/docs/favicon.png', 'image/png', 'PNG'],
  ['/api/docs/openapi.yaml', 'application/yaml; charset=utf-8', 'openapi: 3.1.0\n'],
] as const

const panel = await usePanel()

/** Plain, unless another coding is asked for. */
const request = (path: string, method = 'GET', headers: Record<string, string> = {}) =>
  fetch(`${panel.origin}${path}`, {
    method,
    redirect: 'manual',
    headers: { 'accept-encoding': 'identity', ...headers },
  })
const text = async (path: string) => (await request(path)).text()

describe.each(ASSETS)('%s', (path, contentType, content) => {
  test('is served with its content type', async () => {
    const response = await request(path)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, contentType])
    expect(await response.text()).toContain(content)
  })

  test('carries the rate limit and counts against it, like every response', async () => {
    const [first, second] = [await request(path), await request(path)]
    for (const { headers } of [first, second]) {
      expect(headers.get('x-ratelimit-limit')).toBe(`${panel.services.config.limitAsset}`)
      expect(headers.get('x-ratelimit-reset')).toMatch(/^\d+$/)
    }
    const remaining = [first, second].map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
    expect(remaining[1]).toBe((remaining[0] ?? 0) - 1)
  })

  test('lets the browser run, load and contact only this origin', async () => {
    const { headers } = await request(path)
    const policy = new Map(
      (headers.get('content-security-policy') ?? '').split('; ').map((directive): [string, string] => {
        const [name = '', ...sources] = directive.split(' ')
        return [name, sources.join(' ')]
      }),
    )
    expect(Object.fromEntries(policy)).toEqual({
      'default-src': "'none'",
      'script-src': "'self'",
      // Swagger UI sets style attributes, and its stylesheet holds images.
      'style-src': "'self' 'unsafe-inline'",
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    })
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('strict-transport-security')).toStartWith('max-age=')
    expect(headers.get('x-request-id')).toBeTruthy()
    // A new version must show at once.
    expect(headers.get('cache-control')).toBe('no-cache')
  })

  test('answers HEAD like GET, without the body', async () => {
    const [get, head] = [await request(path), await request(path, 'HEAD')]
    const body = await get.bytes()
    expect([head.status, (await head.bytes()).length]).toEqual([200, 0])
    expect(head.headers.get('content-length')).toBe(`${body.length}`)
    for (const name of ['content-type', 'content-security-policy', 'cache-control']) {
      expect(head.headers.get(name)).toBe(get.headers.get(name))
    }
    expect(head.headers.get('x-ratelimit-limit')).toBe(get.headers.get('x-ratelimit-limit'))
  })

  test('has an ETag by its content, and is 304 without a body when the client’s copy is current, in any encoding', async () => {
    const etag = (await request(path)).headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/)
    for (const condition of [etag, `W/${etag}`, etag.replace(/"$/, '-br"'), '*']) {
      const known = await request(path, 'GET', { 'if-none-match': condition })
      expect([condition, known.status, await known.text()]).toEqual([condition, 304, ''])
      expect(known.headers.get('etag')).toBe(etag)
    }
    expect((await request(path, 'GET', { 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('is cached forever under the URL with its version, and revalidated under any other', async () => {
    const etag = (await request(path)).headers.get('etag') ?? ''
    const kept = await request(`${path}?v=${etag.slice(1, 17)}`)
    // The document and the page itself have no such URL: a new version must show at once.
    const hasVersion = path !== '/api/docs' && !path.endsWith('yaml')
    expect(kept.headers.get('cache-control')).toBe(hasVersion ? 'max-age=31536000, immutable' : 'no-cache')
    for (const query of ['', '?v=', '?v=0123456789abcdef']) {
      expect((await request(path + query)).headers.get('cache-control')).toBe('no-cache')
    }
  })

  test.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['*', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', null],
    ['zstd', null],
    ['gzip;q=0, *;q=0', null],
    ['gzip;q=x', null],
  ])('for Accept-Encoding: %s comes as %s, with the same content', async (accepted, coding) => {
    const plain = await request(path)
    const coded = await request(path, 'GET', { 'accept-encoding': accepted })
    const expected = contentType === 'image/png' ? null : coding
    expect([coded.status, coded.headers.get('content-encoding')]).toEqual([200, expected])
    expect(coded.headers.get('vary')).toBe(contentType === 'image/png' ? null : 'Accept-Encoding')
    // What it is in another coding, a cache must not take for this.
    expect(coded.headers.get('etag') === plain.headers.get('etag')).toBe(expected === null)
    expect(coded.headers.get('content-type')).toBe(contentType)
    expect(Bun.SHA256.hash(await coded.bytes(), 'hex')).toBe(Bun.SHA256.hash(await plain.bytes(), 'hex'))
  })

  test('allows no other method', async () => {
    const { status, headers } = await request(path, 'POST')
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})

describe('the page', () => {
  test('names every asset by its path, and no other origin', async () => {
    const html = await text('/api/docs')
    const links = [...html.matchAll(/(?:href|src|action)="([^"]*)"/g)].map(([, link = '']) => link)
    // Relative to /api/docs: under the prefix of a proxy they lead there too.
    expect(links.map((link) => link.split('?')[0]).sort()).toEqual([
      'docs/favicon.png',
      'docs/start.js',
      'docs/swagger-ui-bundle.js',
      'docs/swagger-ui.css',
    ])
    for (const link of links) {
      const { status, headers } = await request(
        new URL(link, 'http://localhost/api/docs').href.slice('http://localhost'.length),
      )
      expect([link, status, headers.get('cache-control')]).toEqual([link, 200, 'max-age=31536000, immutable'])
    }
    expect(html).not.toMatch(/https?:|"\/\//)
  })

  test('has no inline script or style, which its policy would block', async () => {
    const html = await text('/api/docs')
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=/)
  })

  test('starts with our document and asks no external validator about it', async () => {
    const start = await text('/api/docs/start.js')
    expect(start).toContain("url: new URL('docs/openapi.yaml', document.baseURI)")
    expect(start).toContain('validatorUrl: null')
    expect(start).not.toMatch(/https?:/)
  })

  test('is styled without extra requests: images are in the stylesheet', async () => {
    const stylesheet = await text('/api/docs/swagger-ui.css')
    expect(stylesheet).not.toContain('@import')
    const urls = [...stylesheet.matchAll(/url\(\s*["']?([^"')]{0,5})/g)].map(([, url]) => url)
    expect(urls).not.toBeEmpty()
    expect(urls.filter((url) => url !== 'data:')).toEqual([])
  })

  test('contains only the latest version of the document, the same for every visitor', async () => {
    const customer = await panel.customer()
    const response = await fetch(`${panel.origin}/api/docs/openapi.yaml`, {
      headers: { authorization: `Bearer ${customer.token}` },
    })
    expect(await response.text()).toBe(await text('/api/docs/openapi.yaml'))
  })

  test.each(['/api/docs/index.html', '/api/docs/..%2fopenapi.yaml', '/api/docs/swagger-ui.css.map'])(
    'has nothing at %s: 404 in the envelope',
    async (path) => {
      const answer = await panel.get(path)
      expect([answer.status, answer.error]).toEqual([404, 'not found'])
    },
  )

  test('is sent at a fraction of its size', async () => {
    let plain = 0
    let coded = 0
    for (const [path] of ASSETS) {
      plain += Number((await request(path, 'HEAD')).headers.get('content-length'))
      coded += Number((await request(path, 'HEAD', { 'accept-encoding': 'gzip' })).headers.get('content-length'))
    }
    expect(plain).toBeGreaterThan(2_000_000)
    expect(coded).toBeLessThan(plain / 3)
  })
})

describe('a browser', () => {
  test.each([
    ['/api/docs/', '/api/docs'],
    ['/api/docs/?x=1', '/api/docs'],
  ])('requesting %s is redirected to %s, including under the prefix of a proxy', async (path, target) => {
    const { status, headers } = await request(path)
    expect(status).toBe(302)
    const location = headers.get('location') ?? ''
    expect(new URL(location, `http://localhost${path}`).pathname).toBe(target)
    expect(new URL(location, `http://localhost/prefix${path}`).pathname).toBe(`/prefix${target}`)
  })

  test('finds an icon at the default path', async () => {
    const { status, headers } = await request('/favicon.ico')
    expect([status, headers.get('content-type')]).toEqual([200, 'image/png'])
  })
})

describe('under a prefix that a proxy strips', () => {
  const document = async (prefix: string) => {
    const response = await request('/api/docs/openapi.yaml', 'GET', { 'x-forwarded-prefix': prefix })
    return Bun.YAML.parse(await response.text()) as { servers: { url: string }[]; paths: object }
  }

  test('the document names it as its server, and is otherwise the same', async () => {
    const [plain, prefixed] = [await document(''), await document('/hosting/panel')]
    expect([plain.servers[0]?.url, prefixed.servers[0]?.url]).toEqual(['/', '/hosting/panel'])
    expect(prefixed.paths).toEqual(plain.paths)
  })

  test('the link to the next page works', async () => {
    const ada = await panel.customer()
    await panel.subscription(ada.id)
    for (const domain of ['one.example', 'two.example']) await panel.post('/sites', ada.token, { domain })
    const linkWith = async (prefix: string) => {
      const headers = { 'x-forwarded-prefix': prefix }
      return (await panel.send('GET', '/sites?limit=1', { as: ada.token, headers })).headers.get('link')
    }
    expect(await linkWith('/panel')).toStartWith('</panel/api/v1/sites?limit=1&cursor=')
    expect(await linkWith('')).toStartWith('</api/v1/sites?limit=1&cursor=')
  })

  test.each([
    '//evil.example',
    'https://evil.example',
    '/a>; rel="next"',
    '/a b',
    'panel',
    '/panel/',
    '/',
    '/a?b',
    `/${'a'.repeat(300)}`,
  ])('%j is not accepted as a prefix', async (prefix) => {
    expect((await document(prefix)).servers[0]?.url).toBe('/')
  })
})
