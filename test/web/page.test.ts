/** The page for people over HTTP: where it is, its policy, how its files are cached and compressed, and how large they are. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { files, firstLoad, paths } from '../../page/dist/files.js'
import { createPolicies } from '../../src/limiter/policies.ts'
import { CONTENT_SECURITY_POLICY } from '../../src/web/files.ts'
import { newDirectory } from '../harness/directory.ts'
import { usePanel } from '../harness/panel.ts'

const panel = await usePanel()
const root = join(import.meta.dir, '../..')

/** Plain, unless another coding is asked for. */
const request = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${panel.origin}${path}`, {
    method,
    redirect: 'manual',
    headers: { 'accept-encoding': 'identity', ...headers },
  })

/** A path of the browser for one of the routes. */
const filled = (path: string) => path.replaceAll(/:\w+/g, '7')

describe.each(paths.map((path) => [path]))('%s', (path) => {
  test('is the page, revalidated each time, under the strict policy', async () => {
    const { status, headers } = await request(filled(path))
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('content-security-policy')).toBe(CONTENT_SECURITY_POLICY)
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    const known = await request(filled(path), { 'if-none-match': `${headers.get('etag')}` })
    expect([known.status, await known.text()]).toEqual([304, ''])
  })

  test('names its files by relative paths, which work under a prefix, and no other origin', async () => {
    const html = await (await request(filled(path))).text()
    const links = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => `${link}`)
    expect(links.length).toBeGreaterThan(2)
    for (const link of links) {
      const { pathname } = new URL(link, `http://panel/prefix${filled(path)}`)
      expect(pathname).toStartWith('/prefix/assets/')
      expect((await request(pathname.slice('/prefix'.length))).status).toBe(200)
    }
    expect(html).not.toMatch(/https?:|"\/\/|<style|<script(?![^>]* src=)|\son\w+=|\sstyle=/)
  })

  test('counts as a file, not as a request without a credential', async () => {
    const { headers } = await request(filled(path))
    expect(headers.get('ratelimit-policy')).toStartWith('"asset"')
  })
})

describe.each(Object.keys(files).map((name) => [name]))('/assets/%s', (name) => {
  const path = `/assets/${name}`

  test('is cached forever, under a limit of its own, and 304 when the client’s copy is current', async () => {
    const { status, headers } = await request(path)
    expect([status, headers.get('content-type')]).toEqual([200, `${files[name]?.contentType}`])
    expect(headers.get('cache-control')).toBe('max-age=31536000, immutable')
    expect(headers.get('ratelimit-policy')).toStartWith('"asset"')
    expect((await request(path, { 'if-none-match': `${headers.get('etag')}` })).status).toBe(304)
  })

  test('comes in each coding with the same content', async () => {
    const plain = await (await request(path)).bytes()
    for (const [coding, decode] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const response = await fetch(`${panel.origin}${path}`, {
        headers: { 'accept-encoding': coding },
        decompress: false,
      })
      expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([
        coding,
        'Accept-Encoding',
      ])
      expect(Bun.SHA256.hash(decode(await response.bytes()), 'hex')).toBe(Bun.SHA256.hash(plain, 'hex'))
    }
  })
})

test('the policy allows neither inline code nor other origins, and no script makes markup from text', () => {
  const policy = new Map(
    CONTENT_SECURITY_POLICY.split('; ').map((part) => [part.split(' ')[0], part.split(' ').slice(1)]),
  )
  expect(Object.fromEntries(policy)).toEqual({
    'default-src': ["'none'"],
    'script-src': ["'self'"],
    'style-src': ["'self'"],
    'img-src': ["'self'", 'blob:'],
    'connect-src': ["'self'"],
    'base-uri': ["'none'"],
    'form-action': ["'none'"],
    'frame-ancestors': ["'none'"],
    'require-trusted-types-for': ["'script'"],
    'trusted-types': ["'none'"],
  })
})

test.each([
  '/assets/main.js',
  '/assets/..%2f..%2fpackage.json',
  '/assets/',
  '/assets',
  '/login/',
  '/nope',
  '/index.html',
])('%s is no path of the page: 404 in the envelope', async (path) => {
  const response = await request(path)
  expect([response.status, await response.json()]).toEqual([404, expect.objectContaining({ error: 'not found' })])
})

test('only reads are allowed', async () => {
  for (const path of ['/', '/login', `/assets/${firstLoad[0]}`]) {
    const { status, headers } = await request(path, {}, 'POST')
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  }
})

test('every path of the page has the policy of files, and no path of the API has', () => {
  const policies = createPolicies(panel.services.config)
  for (const path of paths) expect(policies.byAddress('GET', filled(path))?.name).toBe('asset')
  for (const path of ['/api/v1/sites', '/api/v1/sites/7', '/sitesx', '/assetsx/a', '/nope']) {
    expect(policies.byAddress('GET', path)).toBeUndefined()
  }
})

describe('budgets, in bytes of brotli', () => {
  const sizeOf = (name: string) => readFileSync(join(root, 'page/dist/assets', `${name}.br`)).length
  const words = Object.keys(files).filter((name) => /^(en|de)-/.test(name))

  test('the first load has at most 45 kB of script, words in the longer language included, and 8 kB of style', () => {
    const scripts = firstLoad.reduce((sum, name) => sum + sizeOf(name), Math.max(...words.map(sizeOf)))
    expect(words).toHaveLength(2)
    expect(scripts).toBeLessThanOrEqual(45_000)
    const styles = Object.keys(files).filter((name) => name.endsWith('.css'))
    expect(styles.reduce((sum, name) => sum + sizeOf(name), 0)).toBeLessThanOrEqual(8000)
  })

  test('each later script has at most 25 kB', () => {
    const later = Object.keys(files).filter((name) => name.endsWith('.js') && !firstLoad.includes(name))
    for (const name of later) expect([name, sizeOf(name) <= 25_000]).toEqual([name, true])
  })

  test('all of it adds at most 1 MB to the binary', () => {
    const all = Object.values(files).flatMap(({ plain, br, gzip }) => [plain, br, gzip])
    expect(all.reduce((sum, path) => sum + Bun.file(path).size, 0)).toBeLessThanOrEqual(1_000_000)
  })
})

test('two builds of the same sources are the same', () => {
  const copy = newDirectory()
  const run = (command: string[], cwd: string) => {
    const { exitCode, stderr } = Bun.spawnSync(command, { cwd, stderr: 'pipe' })
    expect([exitCode, stderr.toString()]).toEqual([0, ''])
  }
  run(['cp', '-r', 'page', 'package.json', 'bun.lock', 'tsconfig.json', copy], root)
  run(['rm', '-rf', 'page/dist'], copy)
  // Not linked: the compiler follows links, and would find the packages in the same place.
  const packages = JSON.parse(readFileSync(join(root, 'page/dist/inputs.json'), 'utf8')) as string[]
  const folders = new Set(packages.flatMap((path) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []))
  expect(folders.size).toBeGreaterThan(4)
  run(['cp', '-r', '--parents', ...folders, copy], root)
  run([process.execPath, 'page/build.ts'], copy)
  run(['diff', '-r', '--exclude=api.ts', join(root, 'page/dist'), 'page/dist'], copy)
})
