/** Conditional requests, ranges and HEAD, for files that are read into memory and for those that are not (RFC 9110). */
import { describe, expect, test } from 'bun:test'
import { renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { openSites } from '../harness/sites.ts'
import { until } from '../harness/until.ts'

const sites = openSites()
const small = Buffer.from('0123456789')
/** Compressible by its name, but no answer to a client that accepts no coding is compressed. */
const text = Buffer.from('All work and no play. '.repeat(200))
const large = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7 + (at >> 8)) % 251))
const huge = Buffer.concat([large, large, large, large, large, large, large, large, large, large, large, large])
const root = sites.add('a.test', {
  'small.bin': small,
  'text.txt': text,
  'large.bin': large,
  'huge.css': huge,
  'empty.txt': '',
})
const contents: Record<string, Buffer> = {
  '/small.bin': small,
  '/text.txt': text,
  '/large.bin': large,
  '/huge.css': huge,
  '/empty.txt': Buffer.alloc(0),
}
const validatorsOf = async (path: string) => {
  const { headers } = await sites.ask(path, { method: 'HEAD' })
  return { etag: headers.get('etag') ?? '', date: headers.get('last-modified') ?? '' }
}
const DAY_MS = 86_400_000
const shifted = (date: string, ms: number) => new Date(Date.parse(date) + ms).toUTCString()

describe.each(Object.entries(contents))('%s', (path, content) => {
  test('whole', async () => {
    const { status, headers, bytes } = await sites.ask(path)
    expect(status).toBe(200)
    expect(bytes.equals(content)).toBeTrue()
    expect(headers.get('content-length')).toBe(`${content.length}`)
    expect(headers.get('accept-ranges')).toBe('bytes')
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('etag')).toMatch(/^"[0-9a-f]{24}"$/)
    expect(headers.get('last-modified')).toMatch(/ GMT$/)
    expect(headers.get('content-encoding')).toBeNull()
    expect(headers.get('transfer-encoding')).toBeNull()
    expect(headers.get('content-disposition') ?? 'inline').toBe('inline')
  })

  test('HEAD has the headers of GET, and no body', async () => {
    for (const accepted of ['identity', 'gzip']) {
      const asked = { headers: { 'accept-encoding': accepted } }
      const get = await sites.ask(path, asked)
      const head = await sites.ask(path, { ...asked, method: 'HEAD' })
      expect([head.status, head.bytes.length]).toEqual([200, 0])
      const sent = ({ headers }: { headers: Headers }) =>
        [...headers].filter(([name]) => name !== 'date' && name !== 'connection').sort()
      expect(sent(head)).toEqual(sent(get))
    }
  })

  test('If-None-Match', async () => {
    const { etag, date } = await validatorsOf(path)
    for (const condition of [etag, `W/${etag}`, `"x", ${etag}`, '*', etag.replace(/"$/, '-gzip"')]) {
      const { status, headers, bytes } = await sites.ask(path, { headers: { 'if-none-match': condition } })
      expect([condition, status, bytes.length]).toEqual([condition, 304, 0])
      expect(headers.get('etag')).toBe(etag)
      expect(headers.get('last-modified')).toBe(date)
      expect(headers.get('cache-control')).toBe('no-cache')
      expect(headers.get('content-type')).toBeNull()
    }
    expect((await sites.ask(path, { method: 'HEAD', headers: { 'if-none-match': etag } })).status).toBe(304)
    for (const condition of ['"x"', '', 'x', etag.slice(1), etag.slice(0, -2)]) {
      const { status, bytes } = await sites.ask(path, { headers: { 'if-none-match': condition } })
      expect([condition, status, bytes.equals(content)]).toEqual([condition, 200, true])
    }
  })

  test('If-Modified-Since', async () => {
    const { date } = await validatorsOf(path)
    const statusFor = async (since: string) =>
      (await sites.ask(path, { headers: { 'if-modified-since': since } })).status
    expect(await statusFor(date)).toBe(304)
    expect(await statusFor(shifted(date, -DAY_MS))).toBe(200)
    // Not the copy that the client has, such as after a rollback to an older release.
    expect(await statusFor(shifted(date, DAY_MS))).toBe(200)
    expect(await statusFor('yesterday')).toBe(200)
  })

  test('conditions in the order of the standard', async () => {
    const { etag, date } = await validatorsOf(path)
    const past = shifted(date, -DAY_MS)
    const cases: [headers: Record<string, string>, status: number][] = [
      [{ 'if-match': etag }, 200],
      [{ 'if-match': '*' }, 200],
      [{ 'if-match': `"x", ${etag}` }, 200],
      [{ 'if-match': '"x"' }, 412],
      [{ 'if-match': `W/${etag}` }, 412],
      [{ 'if-unmodified-since': date }, 200],
      [{ 'if-unmodified-since': past }, 412],
      [{ 'if-unmodified-since': 'yesterday' }, 200],
      [{ 'if-match': etag, 'if-unmodified-since': past }, 200],
      [{ 'if-match': '"x"', 'if-none-match': etag }, 412],
      [{ 'if-match': etag, 'if-none-match': etag }, 304],
      [{ 'if-none-match': '"x"', 'if-modified-since': date }, 200],
      [{ 'if-none-match': etag, 'if-modified-since': past }, 304],
      [{ 'if-none-match': etag, range: 'bytes=0-1' }, 304],
      [{ 'if-match': '"x"', range: 'bytes=0-1' }, 412],
    ]
    for (const [headers, status] of cases) {
      for (const method of ['GET', 'HEAD']) {
        expect([method, headers, (await sites.ask(path, { method, headers })).status]).toEqual([
          method,
          headers,
          status,
        ])
      }
    }
  })
})

describe.each(Object.entries(contents).filter(([path]) => path !== '/empty.txt'))('a range of %s', (path, content) => {
  const { length } = content

  test.each([
    ['bytes=0-0', 0, 0],
    ['bytes=0-', 0, length - 1],
    ['bytes=2-5', 2, 5],
    ['bytes=9-', 9, length - 1],
    ['bytes=-1', length - 1, length - 1],
    ['bytes=-3', length - 3, length - 1],
    [`bytes=-${length}`, 0, length - 1],
    [`bytes=-${length + 5}`, 0, length - 1],
    [`bytes=1-${length + 5}`, 1, length - 1],
    ['bytes=1-99999999999999999999999', 1, length - 1],
    ['BYTES=1-2', 1, 2],
  ])('%s', async (range, first, last) => {
    const { status, headers, bytes } = await sites.ask(path, { headers: { range, 'accept-encoding': 'gzip, br' } })
    expect(status).toBe(206)
    expect(headers.get('content-range')).toBe(`bytes ${first}-${last}/${length}`)
    expect(headers.get('content-length')).toBe(`${last - first + 1}`)
    expect(headers.get('content-encoding')).toBeNull()
    expect(headers.get('etag')).toBe((await validatorsOf(path)).etag)
    expect(bytes.equals(content.subarray(first, last + 1))).toBeTrue()
  })

  test.each([`bytes=${length}-`, `bytes=${length + 5}-${length + 9}`, 'bytes=99999999999999999999999-', 'bytes=-0'])(
    '%s cannot be satisfied',
    async (range) => {
      const { status, headers } = await sites.ask(path, { headers: { range } })
      expect([status, headers.get('content-range')]).toEqual([416, `bytes */${length}`])
    },
  )

  test.each([
    'bytes=0-1,3-4',
    'bytes=0-1, 3-4',
    'bytes=5-2',
    'bytes=-',
    'bytes=a-b',
    'bytes=1',
    'bytes',
    'items=0-1',
    'bytes=0-1,',
    'bytes=--1',
    'bytes=1-2-3',
    '',
  ])('"%s" is answered with the whole file', async (range) => {
    const { status, headers, bytes } = await sites.ask(path, { headers: { range } })
    expect([status, headers.get('content-range'), bytes.equals(content)]).toEqual([200, null, true])
  })

  test('for HEAD it is the whole file', async () => {
    for (const range of ['bytes=0-1', `bytes=${length}-`]) {
      const { status, headers } = await sites.ask(path, { method: 'HEAD', headers: { range } })
      expect([status, headers.get('content-length'), headers.get('content-range')]).toEqual([200, `${length}`, null])
    }
  })

  test('If-Range', async () => {
    const { etag, date } = await validatorsOf(path)
    const cases: [condition: string, status: number][] = [
      [etag, 206],
      [date, 206],
      ['"x"', 200],
      [`W/${etag}`, 200],
      [etag.replace(/"$/, '-gzip"'), 200],
      [shifted(date, -DAY_MS), 200],
      [shifted(date, DAY_MS), 200],
      ['yesterday', 200],
    ]
    for (const [condition, status] of cases) {
      const answer = await sites.ask(path, { headers: { range: 'bytes=2-3', 'if-range': condition } })
      expect([condition, answer.status]).toEqual([condition, status])
      expect(answer.bytes.equals(status === 206 ? content.subarray(2, 4) : content)).toBeTrue()
    }
  })
})

test('an empty file has no range that could be satisfied, but can be read', async () => {
  const statusFor = async (range: string) => (await sites.ask('/empty.txt', { headers: { range } })).status
  expect(await statusFor('bytes=0-')).toBe(416)
  expect(await statusFor('bytes=-5')).toBe(200)
})

test('any Range gets the whole file or the part that it names', async () => {
  const number = fc.oneof(fc.nat({ max: 310_000 }), fc.constantFrom('', 299_999, 300_000, 65_536, 65_535))
  await fc.assert(
    fc.asyncProperty(number, number, fc.constantFrom('', '', ' ', ',', ',0-1'), async (from, to, more) => {
      const { status, headers, bytes } = await sites.ask('/large.bin', {
        headers: { range: `bytes=${from}-${to}${more}` },
      })
      if (status === 416) return expect(headers.get('content-range')).toBe('bytes */300000')
      const [first = 0, last = large.length - 1] =
        headers
          .get('content-range')
          ?.match(/^bytes (\d+)-(\d+)\/300000$/)
          ?.slice(1)
          .map(Number) ?? []
      expect(status).toBe(headers.has('content-range') ? 206 : 200)
      if (status === 206 && from !== '')
        expect([first, last]).toEqual([Number(from), to === '' ? last : Math.min(Number(to), last)])
      expect(bytes.equals(large.subarray(first, last + 1))).toBeTrue()
    }),
    { numRuns: 300 },
  )
})

test('different content has a different tag, even with the same name, size and mtime', async () => {
  const file = join(root, 'same.txt')
  const tags = new Set<string>()
  for (const content of ['first', 'other', 'third']) {
    writeFileSync(`${file}.new`, content)
    // As an archive does that sets one time for all files and releases.
    utimesSync(`${file}.new`, 315_532_800, 315_532_800)
    renameSync(`${file}.new`, file)
    tags.add((await validatorsOf('/same.txt')).etag)
  }
  expect(tags.size).toBe(3)
  const { date } = await validatorsOf('/same.txt')
  expect(Date.parse(date)).toBe(Math.floor(statSync(file).ctimeMs / 1000) * 1000)
})

test('a file that is written again in place has another tag, even with the same size and mtime', async () => {
  const file = join(root, 'in-place.txt')
  writeFileSync(file, 'first')
  utimesSync(file, 315_532_800, 315_532_800)
  const { etag } = await validatorsOf('/in-place.txt')
  const { ctimeNs } = statSync(file, { bigint: true })
  // The kernel's clock for files is a coarse one.
  await until('another ctime', () => {
    writeFileSync(file, 'other')
    utimesSync(file, 315_532_800, 315_532_800)
    return statSync(file, { bigint: true }).ctimeNs !== ctimeNs
  })
  expect((await validatorsOf('/in-place.txt')).etag).not.toBe(etag)
})

test('a large page for what is not found is always whole', async () => {
  sites.add('own.test', { '404.html': large })
  const { etag } = await validatorsOf('/large.bin')
  for (const headers of [{}, { range: 'bytes=1-3' }, { 'if-none-match': '*' }, { 'if-match': etag }]) {
    const { status, bytes } = await sites.ask('/missing', { host: 'own.test', headers })
    expect([status, bytes.equals(large)]).toEqual([404, true])
    const head = await sites.ask('/missing', { host: 'own.test', headers, method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).toEqual([404, `${large.length}`])
  }
})

test('an unchanged file keeps its tag', async () => {
  expect((await validatorsOf('/large.bin')).etag).toBe((await validatorsOf('/large.bin')).etag)
})
