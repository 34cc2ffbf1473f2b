/** The reference page over HTTP: what it is made of, its headers, and that nothing in it leads to another origin. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Panel, startPanel } from '../harness/panel.ts'

const ASSETS = [
  ['/api/docs', 'text/html; charset=utf-8', 'swagger-ui'],
  ['/api/docs/start.js', 'text/javascript; charset=utf-8', 'SwaggerUIBundle'],
  ['/api/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8', 'SwaggerUIBundle'],
  ['/api/docs/swagger-ui.css', 'text/css; charset=utf-8', '.swagger-ui'],
  ['/api/docs/favicon.png', 'image/png', 'PNG'],
  ['/api/docs/openapi.yaml', 'application/yaml; charset=utf-8', 'openapi: 3.1.0\n'],
] as const

let panel: Panel
beforeAll(async () => {
  panel = await startPanel()
})
afterAll(() => panel.stop())

const request = (path: string, method = 'GET') => fetch(`${panel.origin}${path}`, { method })
const text = async (path: string) => (await request(path)).text()

describe.each(ASSETS)('%s', (path, contentType, content) => {
  test('is served with its content type', async () => {
    const response = await request(path)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, contentType])
    expect(await response.text()).toContain(content)
  })

  test('carries the rate limit and counts against it, as every response does', async () => {
    const [first, second] = [await request(path), await request(path)]
    for (const { headers } of [first, second]) {
      expect(headers.get('x-ratelimit-limit')).toBe(`${panel.context.config.limitAnonymous}`)
      expect(headers.get('x-ratelimit-reset')).toMatch(/^\d+$/)
    }
    const remaining = [first, second].map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
    expect(remaining[1]).toBe((remaining[0] ?? 0) - 1)
  })

  test('lets the browser run, load and ask nothing but this origin', async () => {
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

  test('answers HEAD as GET, without the body', async () => {
    const [get, head] = [await request(path), await request(path, 'HEAD')]
    const body = await get.bytes()
    expect([head.status, (await head.bytes()).length]).toEqual([200, 0])
    expect(head.headers.get('content-length')).toBe(`${body.length}`)
    for (const name of ['content-type', 'content-security-policy', 'cache-control']) {
      expect(head.headers.get(name)).toBe(get.headers.get(name))
    }
    expect(head.headers.get('x-ratelimit-limit')).toBe(get.headers.get('x-ratelimit-limit'))
  })

  test('takes no other method', async () => {
    const { status, headers } = await request(path, 'POST')
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})

describe('the page', () => {
  test('names every asset by its path, and no other origin', async () => {
    const html = await text('/api/docs')
    const links = [...html.matchAll(/(?:href|src|action)="([^"]*)"/g)].map(([, link]) => link)
    expect(links.sort()).toEqual([
      '/api/docs/favicon.png',
      '/api/docs/start.js',
      '/api/docs/swagger-ui-bundle.js',
      '/api/docs/swagger-ui.css',
    ])
    expect(html).not.toMatch(/https?:|"\/\//)
  })

  test('has no inline script or style, which its policy would refuse', async () => {
    const html = await text('/api/docs')
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=/)
  })

  test('starts with our document and asks no validator about it', async () => {
    const start = await text('/api/docs/start.js')
    expect(start).toContain("url: '/api/docs/openapi.yaml'")
    expect(start).toContain('validatorUrl: null')
    expect(start).not.toMatch(/https?:/)
  })

  test('is styled without loading anything: images are in the stylesheet', async () => {
    const stylesheet = await text('/api/docs/swagger-ui.css')
    expect(stylesheet).not.toContain('@import')
    const urls = [...stylesheet.matchAll(/url\(\s*["']?([^"')]{0,5})/g)].map(([, url]) => url)
    expect(urls).not.toBeEmpty()
    expect(urls.filter((url) => url !== 'data:')).toEqual([])
  })

  test('holds no version of the document but the latest, and the same one for everybody', async () => {
    const customer = await panel.customer()
    const response = await fetch(`${panel.origin}/api/docs/openapi.yaml`, {
      headers: { authorization: `Bearer ${customer.token}` },
    })
    expect(await response.text()).toBe(await text('/api/docs/openapi.yaml'))
  })

  test.each(['/api/docs/', '/api/docs/index.html', '/api/docs/..%2fopenapi.yaml', '/api/docs/swagger-ui.css.map'])(
    'has nothing at %s: 404 in the envelope',
    async (path) => {
      const answer = await panel.get(path)
      expect([answer.status, answer.error]).toEqual([404, 'not found'])
    },
  )
})
