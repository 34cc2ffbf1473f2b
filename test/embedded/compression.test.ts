/** Media types, and which files are compressed for which clients. */
import { expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { createCompressedFiles } from '../../src/embedded/compressed-files.ts'
import { openSites } from '../harness/sites.ts'

const sites = openSites()
const text = 'All work and no play makes Jack a dull boy. '.repeat(100)
const types: Record<string, string> = {
  html: 'text/html;charset=utf-8',
  htm: 'text/html;charset=utf-8',
  css: 'text/css;charset=utf-8',
  js: 'text/javascript;charset=utf-8',
  mjs: 'text/javascript;charset=utf-8',
  json: 'application/json;charset=utf-8',
  map: 'application/json;charset=utf-8',
  txt: 'text/plain;charset=utf-8',
  md: 'text/markdown;charset=utf-8',
  csv: 'text/csv;charset=utf-8',
  vtt: 'text/vtt;charset=utf-8',
  xml: 'application/xml',
  rss: 'application/rss+xml',
  atom: 'application/atom+xml',
  svg: 'image/svg+xml',
  wasm: 'application/wasm',
  webmanifest: 'application/manifest+json',
  ttf: 'font/ttf',
  otf: 'font/otf',
  ico: 'image/x-icon',
}
const incompressible: Record<string, string> = {
  woff: 'font/woff',
  woff2: 'font/woff2',
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  jxl: 'image/jxl',
  pdf: 'application/pdf',
  zip: 'application/zip',
  gz: 'application/gzip',
  mp4: 'video/mp4',
  webm: 'video/webm',
  ts: 'video/mp2t',
  mp3: 'audio/mpeg',
  bin: 'application/octet-stream',
  unknown: 'application/octet-stream',
}
for (const extension of [...Object.keys(types), ...Object.keys(incompressible)]) {
  sites.add(`${extension}.test`.toLowerCase(), { [`file.${extension}`]: text })
}
sites.add('a.test', {
  'file.css': text,
  'short.css': 'x'.repeat(1023),
  'long.css': 'y'.repeat(2 * 1024 * 1024 + 1),
  'longest.css': 'y'.repeat(2 * 1024 * 1024),
  'no-extension': text,
  'a.b/no-extension': text,
  'two.tar.gz': text,
  'UPPER.CSS': text,
  '404.html': text,
})

test.each(Object.entries({ ...types, ...incompressible }))('%s is %s', async (extension, type) => {
  const { status, headers } = await sites.ask(`/file.${extension}`, { host: `${extension}.test` })
  expect([status, headers.get('content-type')]).toEqual([200, type])
})

test('a file without an extension is of no known type', async () => {
  for (const path of ['/no-extension', '/a.b/no-extension']) {
    expect((await sites.ask(path)).headers.get('content-type')).toBe('application/octet-stream')
  }
  expect((await sites.ask('/two.tar.gz')).headers.get('content-type')).toBe('application/gzip')
  expect((await sites.ask('/UPPER.CSS')).headers.get('content-type')).toBe('text/css;charset=utf-8')
})

const asking = (accepted: string) => ({ headers: { 'accept-encoding': accepted } })

test.each(Object.keys(types))('%s is compressed', async (extension) => {
  const host = `${extension}.test`
  const { headers, bytes } = await sites.ask(`/file.${extension}`, { host, ...asking('gzip') })
  expect(headers.get('content-encoding')).toBe('gzip')
  expect(headers.get('vary')).toBe('Accept-Encoding')
  expect(headers.get('content-length')).toBe(`${bytes.length}`)
  expect(gunzipSync(bytes).toString()).toBe(text)
})

test.each(Object.keys(incompressible))('%s is not compressed', async (extension) => {
  const host = `${extension}.test`
  const { headers, text: body } = await sites.ask(`/file.${extension}`, { host, ...asking('gzip, br') })
  expect([headers.get('content-encoding'), headers.get('vary'), body]).toEqual([null, null, text])
})

test.each([
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip;q=1, br;q=0.5', 'gzip'],
  ['*', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['deflate', null],
  ['identity', null],
  ['gzip;q=0', null],
  ['', null],
])('Accept-Encoding: %s gives %s', async (accepted, coding) => {
  const { status, headers, bytes } = await sites.ask('/file.css', asking(accepted))
  expect([status, headers.get('content-encoding')]).toEqual([200, coding])
  expect(headers.get('vary')).toBe('Accept-Encoding')
  const plain = coding === 'br' ? brotliDecompressSync(bytes) : coding === 'gzip' ? gunzipSync(bytes) : bytes
  expect(plain.toString()).toBe(text)
})

test('each coding has a tag of its own, and any of them proves that a copy is current', async () => {
  const tags: string[] = []
  for (const accepted of ['identity', 'gzip', 'br']) {
    tags.push((await sites.ask('/file.css', asking(accepted))).headers.get('etag') ?? '')
  }
  expect(new Set(tags).size).toBe(3)
  for (const accepted of ['identity', 'gzip', 'br']) {
    for (const tag of tags) {
      const headers = { 'accept-encoding': accepted, 'if-none-match': tag }
      const answer = await sites.ask('/file.css', { headers })
      expect([answer.status, answer.headers.get('vary')]).toEqual([304, 'Accept-Encoding'])
    }
  }
  const strong = { 'accept-encoding': 'gzip', 'if-match': `${tags[0]}` }
  expect((await sites.ask('/file.css', { headers: strong })).status).toBe(412)
})

test('a file that is too short or too long is sent as it is', async () => {
  for (const [path, coding] of [
    ['/short.css', null],
    ['/long.css', null],
    ['/longest.css', 'gzip'],
  ] as const) {
    const { status, headers } = await sites.ask(path, asking('gzip'))
    expect([path, status, headers.get('content-encoding')]).toEqual([path, 200, coding])
  }
})

test('concurrent clients get the same content', async () => {
  const answers = await Promise.all(Array.from({ length: 30 }, () => sites.ask('/longest.css', asking('br'))))
  for (const { headers, bytes } of answers) {
    const plain = headers.get('content-encoding') === 'br' ? brotliDecompressSync(bytes) : bytes
    expect(plain.length).toBe(2 * 1024 * 1024)
  }
})

test('a file is compressed once, as long as there is room; at most two are at a time', async () => {
  const files = createCompressedFiles()
  const reads: string[] = []
  // Random, so that what is remembered is as long as what is read.
  const read = (tag: string) => () => {
    reads.push(tag)
    return crypto.getRandomValues(new Uint8Array(65_536))
  }
  const get = (tag: string) => files.get(tag, 'gzip', read(tag))
  const first = get('a')
  expect(get('a')).toBe(first)
  const second = get('b')
  expect(get('c')).toBeUndefined()
  const [bytes] = await Promise.all([first, second])
  expect(get('a')).toBe(bytes)
  expect(reads).toEqual(['a', 'b'])
  // 32 MiB: 511 of them, the first of which was not asked for since.
  for (let file = 0; file < 511; file++) {
    await get(`${file}`)
    expect(get('a')).toBe(bytes)
  }
  reads.length = 0
  await get('b')
  await get('510')
  expect(reads).toEqual(['b'])
})

test('a file that cannot be read is not remembered', async () => {
  const files = createCompressedFiles()
  const failing = () => {
    throw new Error('the disk is gone')
  }
  for (const _ of [1, 2, 3]) expect(() => files.get('a', 'gzip', failing)).toThrow('the disk is gone')
  expect(await files.get('a', 'gzip', () => new Uint8Array(2000))).toBeInstanceOf(Uint8Array)
})

test('the page for what is not found is sent as it is', async () => {
  const { status, headers, text: body } = await sites.ask('/missing', asking('gzip'))
  expect([status, headers.get('content-encoding'), body]).toEqual([404, null, text])
})
