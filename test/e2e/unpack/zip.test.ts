/** Zip archives: those of programs become what was packed, and the hostile ones are refused by the name of their entry. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import type { FailureCode } from '../../../src/unpack/result.ts'
import { newDirectory } from '../../harness/directory.ts'
import { startUnpacking, treeOf, type Unpacking } from '../../harness/unpacking.ts'
import { type ZipEntry, zip } from '../../harness/zip.ts'

const MEGABYTE = 1024 * 1024
const site = newDirectory('ncp-zip-')
let unpacking: Unpacking
beforeAll(async () => {
  unpacking = await startUnpacking()
  mkdirSync(join(site, 'public/empty'), { recursive: true })
  writeFileSync(join(site, 'public/index.html'), 'hello '.repeat(1000))
  writeFileSync(join(site, 'public/Größe ☃.txt'), 'é')
  writeFileSync(join(site, 'public/nothing'), '')
  writeFileSync(join(site, 'noise'), Bun.gzipSync(Buffer.from(Array.from({ length: 99 }, Math.random).join())))
  writeFileSync(join(site, 'run.sh'), '#!/bin/sh\n')
  chmodSync(join(site, 'run.sh'), 0o755)
  symlinkSync('index.html', join(site, 'public/link'))
})
afterAll(() => unpacking.remove())

const lacks = (program: string) => !Bun.which(program, { PATH: '/usr/bin:/bin' })
/** @returns the archive that a program makes at `archive.zip` above the site */
function madeBy(command: string[], name = 'archive.zip'): Buffer {
  const path = join(newDirectory('ncp-zip-'), name)
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' }
  const { exitCode, stderr } = Bun.spawnSync([...command, path, ...readdirSync(site)], { cwd: site, env })
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
  return readFileSync(path)
}

for (const [what, command] of Object.entries({
  'Info-ZIP': ['zip', '-q', '-r', '-y'],
  'Info-ZIP, stored': ['zip', '-q', '-r', '-y', '-0'],
  'Info-ZIP, without folders and extra fields': ['zip', '-q', '-r', '-y', '-D', '-X'],
  bsdtar: ['bsdtar', '--format=zip', '-cf'],
})) {
  test.skipIf(lacks(command[0] ?? ''))(`an archive by ${what} becomes what was packed`, async () => {
    const result = await unpacking.run(madeBy(command), { links: 'inside' })
    expect(result).toMatchObject({ ok: true, files: 6, publicDir: 'public' })
    const { 'public/empty': empty, ...expected } = treeOf(site)
    const { 'public/empty': found = empty, ...tree } = unpacking.tree()
    expect([tree, found]).toEqual([expected, empty as string])
  })
}

test('an archive by DOS has files and folders, none of them a program', async () => {
  const archive = zip([
    { name: 'public/', mode: null },
    { name: 'public/a.html', body: 'x', mode: null, method: 8 },
  ])
  expect(await unpacking.run(archive)).toMatchObject({ ok: true, files: 1, bytes: 1, publicDir: 'public' })
  expect(unpacking.tree()['public/a.html']).toStartWith('file 644 ')
})

const good: ZipEntry = { name: 'index.html', body: 'hello', method: 8 }
const link = (name: string, target: string): ZipEntry => ({ name, body: target, mode: 0o120777 })

/** What is wrong, the code, the entries, and the name that is blamed where it is not that of the last entry. */
type Case = [string, FailureCode, ZipEntry[], string?]
const cases: Case[] = [
  ['an absolute name', 'name_invalid', [good, { name: '/etc/ncp-was-here' }]],
  ['a way up', 'name_invalid', [good, { name: '../beside' }]],
  ['a way up from below', 'name_invalid', [good, { name: 'a/../../beside' }]],
  ['a way up as on Windows', 'name_invalid', [good, { name: '..\\beside' }]],
  ['a drive', 'name_invalid', [good, { name: 'C:\\a' }]],
  ['an empty name', 'name_invalid', [good, { name: '' }]],
  ['a NUL byte', 'name_invalid', [good, { name: 'a\0.html' }], 'a\\u0000.html'],
  ['bytes that are not UTF-8', 'name_invalid', [good, { name: Buffer.from('caf\xe9', 'latin1') }], 'café'],
  ['another name in front of the contents', 'name_invalid', [good, { name: 'a', localName: 'b' }]],
  ['a name twice', 'name_taken', [good, good]],
  ['a name twice but for its case', 'name_taken', [good, { name: 'INDEX.html' }]],
  ['a file as a folder', 'name_taken', [good, { name: 'index.html/a' }]],
  ['a file under a link', 'name_taken', [good, link('l', '.'), { name: 'l/a' }]],
  ['a link outside', 'link_outside', [good, link('l', '../../etc/passwd')]],
  ['an absolute link', 'link_outside', [good, link('l', '/etc/passwd')]],
  ['a link to nothing', 'link_broken', [good, link('l', 'nothing')]],
  ['links in a circle', 'link_broken', [good, link('a', 'b'), link('b', 'a')], 'a'],
  ['a link with a long target', 'type_refused', [good, link('l', 'x'.repeat(5000))]],
  ['a device', 'type_refused', [good, { name: 'd', mode: 0o020644 }]],
  ['a named pipe', 'type_refused', [good, { name: 'p', mode: 0o010644 }]],
  ['a socket', 'type_refused', [good, { name: 's', mode: 0o140644 }]],
  ['a folder with contents', 'type_refused', [good, { name: 'd/', body: 'x' }]],
  ['an encrypted entry', 'type_refused', [good, { name: 'e', flags: 1, compressedSize: 12, size: 0 }]],
  ['an unknown method', 'type_refused', [good, { name: 'm', method: 93, body: 'x' }]],
  ['a wrong checksum', 'archive_damaged', [good, { name: 'c', body: 'x', crc: 1 }]],
  ['a wrong checksum of what is deflated', 'archive_damaged', [good, { name: 'c', body: 'x', method: 8, crc: 1 }]],
  ['contents that are longer than said', 'archive_damaged', [good, { name: 'c', body: 'xx', method: 8, size: 1 }]],
  ['contents that are shorter than said', 'archive_damaged', [good, { name: 'c', body: 'x', method: 8, size: 2 }]],
  ['contents beyond the end', 'archive_damaged', [good, { name: 'c', body: 'x', size: 9999, compressedSize: 9999 }]],
  ['a place beyond the end', 'archive_damaged', [good, { name: 'c', body: 'x', offset: 9_999_999 }]],
  ['a place in the middle of contents', 'archive_damaged', [good, { name: 'c', body: 'x', offset: 10 }]],
]

for (const [what, code, entries, entry = `${entries.at(-1)?.name}`] of cases) {
  test(`${what} is refused by the name of the entry`, async () => {
    const result = await unpacking.run(zip(entries), { links: 'inside' })
    expect(result).toMatchObject({ ok: false, code, entry })
  })
}

test('a link is refused where links are', async () => {
  const result = await unpacking.run(zip([good, link('l', 'index.html')]))
  expect(result).toMatchObject({ ok: false, code: 'link_refused', entry: 'l', line: 2 })
})

const whole = zip([good, { name: 'big', body: 'x'.repeat(5000) }])
test.each<[string, FailureCode, Buffer]>([
  ['without entries', 'archive_empty', zip([])],
  ['of folders alone', 'archive_empty', zip([{ name: 'a/' }])],
  ['without its end', 'archive_damaged', whole.subarray(0, -30)],
  ['cut in the middle', 'archive_damaged', whole.subarray(0, whole.length >> 1)],
  ['with garbage after the end', 'archive_damaged', Buffer.concat([whole, Buffer.from('x')])],
  ['whose list has more than it says', 'archive_damaged', zip([good, { name: 'a' }], { entries: 1 })],
  ['whose list has fewer than it says', 'archive_damaged', zip([good], { entries: 2 })],
  ['of several disks', 'archive_damaged', zip([good], { disk: 3 })],
  ['with another end in its comment', 'archive_damaged', zip([good], { comment: `PK\x05\x06${'\0'.repeat(18)}` })],
])('an archive %s is refused', async (_, code, archive) => {
  expect(await unpacking.run(archive)).toMatchObject({ ok: false, code })
})

test('a bomb is cut at what is allowed, and one whose entries share their bytes is refused', async () => {
  const bomb = zip([{ name: 'bomb', body: Buffer.alloc(50 * MEGABYTE), method: 8 }])
  expect(bomb.length).toBeLessThan(MEGABYTE)
  expect(await unpacking.run(bomb, { maxBytes: MEGABYTE })).toMatchObject({ ok: false, code: 'too_many_bytes' })
  // What lies about its length is not believed before it is written.
  const lying = zip([{ name: 'bomb', body: Buffer.alloc(50 * MEGABYTE), method: 8, size: 1 }])
  expect(await unpacking.run(lying, { maxBytes: MEGABYTE })).toMatchObject({ ok: false, code: 'archive_damaged' })
  const shared = Array.from({ length: 100 }, (_, i) => ({
    name: `${i}`.padStart(3, '0'),
    ...(i === 0 ? { body: Buffer.alloc(MEGABYTE), method: 8 } : {}),
  }))
  const [first = good, ...rest] = shared
  const { crc, packed } = deflated(Buffer.alloc(MEGABYTE))
  const same = rest.map(({ name }) => ({
    ...{ name, localName: first.name, method: 8, crc },
    ...{ size: MEGABYTE, compressedSize: packed, offset: 0 },
  }))
  expect(await unpacking.run(zip([first, ...same]), { maxBytes: 50 * MEGABYTE })).toMatchObject({
    ok: false,
    code: 'name_invalid',
    entry: '001',
  })
  const peakBytes = unpacking.peakBytes()
  expect(peakBytes).toBeGreaterThan(MEGABYTE)
  expect(peakBytes).toBeLessThan(200 * MEGABYTE)
})

const deflated = (body: Buffer) => ({ crc: crc32(body), packed: deflateRawSync(body).length })

test('too many entries are refused, and as many that make nothing', async () => {
  const entries = Array.from({ length: 60_000 }, (_, i) => ({ name: `f/${i}` }))
  expect(await unpacking.run(zip(entries))).toMatchObject({ ok: false, code: 'too_many_files', line: 1000 })
  const folders = Array.from({ length: 60_000 }, () => ({ name: './' }))
  expect(await unpacking.run(zip(folders), { maxBytes: 1, maxFiles: 1 })).toMatchObject({ code: 'too_many_bytes' })
})

test('an archive with any of its bytes changed is refused or unpacked, and does nothing else', async () => {
  const archive = zip([good, { name: 'a/b', body: 'x'.repeat(60) }, link('l', 'a/b'), { name: 'c/' }])
  const change = fc.tuple(fc.nat(archive.length - 1), fc.integer({ min: 0, max: 255 }))
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      const changed = Buffer.from(archive)
      for (const [at, byte] of changes) changed.writeUInt8(byte, at)
      const result = await unpacking.run(changed, { links: 'inside' })
      if (!result.ok) expect(result.code).not.toBe('unpack_failed')
    }),
    { numRuns: 25 },
  )
})
