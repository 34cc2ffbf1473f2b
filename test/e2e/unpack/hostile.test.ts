/** Archives that must not become a release: each is refused by the name of its entry, and touches nothing else. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import type { FailureCode } from '../../../src/unpack/result.ts'
import { END, pax, type RawEntry, rawEntry, tar } from '../../harness/tar.ts'
import { startUnpacking, type Unpacking } from '../../harness/unpacking.ts'

let unpacking: Unpacking
beforeAll(async () => {
  unpacking = await startUnpacking()
})
afterAll(() => unpacking.remove())

const good: RawEntry = { name: 'index.html', body: 'hello' }
const file = (name: string | Buffer): RawEntry => ({ name, body: 'bad' })
const link = (name: string, target: string): RawEntry => ({ name, type: '2', target })
const hardLink = (name: string, target: string): RawEntry => ({ name, type: '1', target })

/** What is wrong, the code, the entries, and the name that is blamed where it is not that of the last entry. */
type Case = [string, FailureCode, RawEntry[], string?]

const names: Case[] = [
  ['an absolute name', 'name_invalid', [good, file('/etc/ncp-was-here')]],
  ['a way up', 'name_invalid', [good, file('../beside')]],
  ['a way up from below', 'name_invalid', [good, file('a/../../beside')]],
  ['a way up at the end', 'name_invalid', [good, { name: 'a/..', type: '5' }]],
  ['an empty name', 'name_invalid', [good, file('')]],
  ['the name of the release itself', 'name_invalid', [good, file('.')]],
  ['a link in place of the release', 'name_invalid', [good, link('./', '..')]],
  ['a line break', 'name_invalid', [good, file('a\nb')], 'a\\u000ab'],
  ['an escape sequence', 'name_invalid', [good, file('\x1b[2J')], '\\u001b[2J'],
  ['a NUL byte in a pax header', 'name_invalid', [good, pax({ path: 'a\0.html' }), file('a')], 'a\\u0000.html'],
  ['bytes that are not UTF-8', 'name_invalid', [good, file(Buffer.from('caf\xe9', 'latin1'))], 'café'],
  [
    'bytes that are not UTF-8 in a pax header',
    'name_invalid',
    [good, pax({ path: Buffer.from([0x61, 0xff]) }), file('a')],
    'a\ufffd',
  ],
  ['a part of 256 bytes', 'name_invalid', [good, pax({ path: 'é'.repeat(128) }), file('a')], 'é'.repeat(128)],
  [
    'a path of 4,100 bytes',
    'name_invalid',
    [good, pax({ path: 'abcd/'.repeat(20).concat(`${'x'.repeat(250)}/`.repeat(16)) }), file('a')],
    `${'abcd/'.repeat(20)}${'x'.repeat(100)}…`,
  ],
  [
    'a path of 65 folders',
    'name_invalid',
    [good, pax({ path: 'a/'.repeat(64).concat('b') }), file('a')],
    'a/'.repeat(64).concat('b'),
  ],
  ['a way up in a pax header', 'name_invalid', [good, pax({ path: '../up' }), file('down')], '../up'],
  [
    'a way up in a GNU header',
    'name_invalid',
    [good, { name: '././@LongLink', type: 'L', body: '../up\0' }, file('down')],
    '../up',
  ],
  ['a way up in the prefix', 'name_invalid', [good, { ...file('up'), prefix: '..' }], '../up'],
  [
    'a way up in the attributes of all',
    'name_invalid',
    [good, pax({ path: '../up' }, 'g'), pax({ mtime: '1' }), file('down')],
    '../up',
  ],
]

const taken: Case[] = [
  ['the same name twice', 'name_taken', [good, file('index.html')]],
  ['the same name in another spelling', 'name_taken', [good, file('.//index.html')]],
  ['a name that differs in its case', 'name_taken', [good, file('INDEX.html')]],
  ['a folder that differs in its case', 'name_taken', [file('img/a'), file('Img/b')]],
  ['a name in another Unicode form', 'name_taken', [file('café'.normalize('NFC')), file('café'.normalize('NFD'))]],
  ['a file below a file', 'name_taken', [good, file('index.html/a')]],
  ['a folder below a file', 'name_taken', [good, { name: 'index.html/a/', type: '5' }]],
  ['a folder in place of a file', 'name_taken', [good, { name: 'index.html/', type: '5' }]],
  ['a file in place of a folder', 'name_taken', [file('a/b'), file('a')]],
  ['a folder twice', 'name_taken', [good, { name: 'a/', type: '5' }, { name: 'a', type: '5' }]],
]

const kinds: Case[] = [
  ['a character device', 'type_refused', [good, { name: 'null', type: '3' }]],
  ['a block device', 'type_refused', [good, { name: 'disk', type: '4' }]],
  ['a named pipe', 'type_refused', [good, { name: 'pipe', type: '6' }]],
  ['an old GNU sparse file', 'type_refused', [good, { name: 'holes', type: 'S', body: 'x' }]],
  [
    'a pax sparse file',
    'type_refused',
    [good, pax({ 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0' }), file('holes')],
  ],
  ['a continued volume', 'type_refused', [good, { name: 'rest', type: 'M', body: 'x' }]],
  ['a type that nobody knows', 'type_refused', [good, { name: 'odd', type: '\x7f' }]],
]

const links: Case[] = [
  ['a link outside', 'link_outside', [good, link('up', '../beside')]],
  ['a link outside from below', 'link_outside', [good, link('a/b/up', 'x/../../../../beside')]],
  ['an absolute link', 'link_outside', [good, link('passwd', '/etc/passwd')]],
  ['a link outside through another', 'link_outside', [good, file('a/b/c'), link('d', 'a/b'), link('e', 'd/../../..')]],
  [
    'a link outside through the links of a folder',
    'link_outside',
    [file('a/b/x'), link('s', 'a'), link('t/u', '../s/b/../../..')],
  ],
  ['a link that leads nowhere', 'link_broken', [good, link('lost', 'nothing')]],
  ['links in a circle', 'link_broken', [good, link('a', 'b'), link('b', 'a')], 'a'],
  ['a link to itself', 'link_broken', [good, link('a', 'a')]],
  ['an empty link', 'link_refused', [good, link('a', '')]],
  ['a file below a link', 'name_taken', [good, file('d/x'), link('l', 'd'), file('l/y')]],
  ['a file in place of a link', 'name_taken', [good, link('l', 'index.html'), file('l')]],
  ['a link in place of a folder', 'name_taken', [file('d/x'), link('d', 'e')]],
]

const hardLinks: Case[] = [
  ['a hard link outside', 'name_invalid', [good, hardLink('h', '../beside')]],
  ['an absolute hard link', 'name_invalid', [good, hardLink('h', '/etc/passwd')]],
  ['a hard link to a later file', 'link_broken', [hardLink('h', 'index.html'), good], 'h'],
  ['a hard link to itself', 'link_broken', [good, hardLink('h', 'h')]],
  ['a hard link to a folder', 'link_broken', [file('d/x'), hardLink('h', 'd')]],
  ['a hard link to a symbolic link', 'link_broken', [good, link('l', 'index.html'), hardLink('h', 'l')]],
]

const cases = [...names, ...taken, ...kinds, ...links, ...hardLinks]

test.each(cases.map(([what, code, entries, blamed]) => [what, { code, entries, blamed }] as const))(
  '%s is refused',
  async (_, { code, entries, blamed }) => {
    const counted = entries.filter(({ type = '0' }) => !'xgL'.includes(type)).map(({ name }) => `${name}`)
    const name = blamed ?? counted.at(-1) ?? ''
    // A name that the archive spells otherwise is that of its last entry.
    const line = counted.lastIndexOf(name) + 1 || counted.length
    expect(await unpacking.run(tar(...entries), { links: 'inside' })).toEqual({
      ok: false,
      code,
      entry: name,
      line,
      message: expect.stringMatching(/^entry \d+[,:] /),
    })
  },
)

test.each(links.filter(([, , entries]) => entries.some(({ type }) => type === '2')))(
  '%s is refused for being one where links are',
  async (_, __, entries) => {
    const result = await unpacking.run(tar(...entries))
    expect(result).toMatchObject({ ok: false, code: 'link_refused', message: expect.stringContaining('not allowed') })
  },
)

test('a link that stays inside is refused too where links are', async () => {
  expect(await unpacking.run(tar(good, link('start.html', 'index.html')))).toEqual({
    ok: false,
    code: 'link_refused',
    entry: 'start.html',
    line: 2,
    message: 'entry 2, start.html: symbolic links are not allowed here; replace it with a file',
  })
})

const whole = tar(good, { name: 'big', body: 'x'.repeat(5000) })
const zipped = gzipSync(whole)
const flipped = Buffer.from(zipped)
flipped.writeUInt8(flipped.readUInt8(flipped.length - 7) ^ 1, flipped.length - 7)

test.each([
  ['nothing at all', 'archive_unknown', Buffer.alloc(0)],
  ['one byte', 'archive_unknown', Buffer.from('x')],
  ['text', 'archive_unknown', Buffer.from('hello '.repeat(1000))],
  ['noise', 'archive_unknown', Buffer.from(Bun.hash('x').toString(36).repeat(1000))],
  ['text in gzip', 'archive_unknown', gzipSync('hello '.repeat(1000))],
  ['a part of a zip archive', 'archive_unknown', Buffer.from('PK\x07\x08 and the rest of it')],
  ['the beginning of a zip archive', 'archive_damaged', Buffer.from('PK\x03\x04 and the rest of it')],
  ['bzip2', 'archive_unknown', Buffer.from('BZh91AY&SY')],
  ['the end of an archive alone', 'archive_empty', END],
  ['an archive of folders alone', 'archive_empty', tar({ name: './', type: '5' }, { name: 'a/', type: '5' })],
  ['an archive cut in a header', 'archive_damaged', whole.subarray(0, 1024 + 100)],
  ['an archive cut in a file', 'archive_damaged', whole.subarray(0, 1024 + 512 + 700)],
  ['an archive cut between two entries', 'archive_damaged', whole.subarray(0, 1024)],
  ['an archive cut before its end', 'archive_damaged', whole.subarray(0, -1024)],
  ['an archive cut in its end', 'archive_damaged', whole.subarray(0, -512)],
  ['garbage after the end', 'archive_damaged', Buffer.concat([whole, Buffer.from('garbage'.repeat(100))])],
  ['a little garbage after the end', 'archive_damaged', Buffer.concat([whole, Buffer.from('x')])],
  ['a wrong checksum', 'archive_damaged', tar(good, { name: 'a', checksum: 1 })],
  [
    'a size that leads into the next header',
    'archive_damaged',
    tar(good, { name: 'a', body: 'x'.repeat(600), size: 100 }, good),
  ],
  ['a size beyond the end', 'archive_damaged', tar(good, { name: 'a', body: 'x', size: 900_000 })],
  ['a size below zero', 'archive_damaged', tar(good, { name: 'a', body: 'x', size: `${'\xff'.repeat(11)}\x9c` })],
  ['a size that is no number', 'archive_damaged', tar(good, pax({ size: 'many' }), { name: 'a', body: 'x' })],
  ['gzip cut in the middle', 'archive_damaged', zipped.subarray(0, zipped.length >> 1)],
  ['gzip without its checksum', 'archive_damaged', zipped.subarray(0, -8)],
  ['gzip with a wrong checksum', 'archive_damaged', flipped],
  ['garbage after gzip', 'archive_damaged', Buffer.concat([zipped, Buffer.from('garbage')])],
  [
    'zeros and garbage after gzip',
    'archive_damaged',
    Buffer.concat([zipped, Buffer.alloc(100), Buffer.from('garbage')]),
  ],
  ['a second gzip member that is cut', 'archive_damaged', Buffer.concat([zipped, zipped.subarray(0, 12)])],
])('%s is refused', async (_, code, archive) => {
  expect(await unpacking.run(archive)).toMatchObject({ ok: false, code })
})

test('a release that is not empty is left alone', async () => {
  const script = 'touch here && exec "$@"'
  const result = await unpacking.run(tar(good), {}, ['/bin/sh', '-c', script, 'sh'])
  expect(result).toMatchObject({ ok: false, code: 'release_not_empty', entry: null, line: null })
  expect(Object.keys(unpacking.tree())).toEqual(['here'])
})

test('the entry to blame is told by its number and its name', async () => {
  const archive = Buffer.concat([
    rawEntry(good),
    ...Array.from({ length: 310 }, (_, at) => rawEntry(file(`${at}`))),
    rawEntry(link('public/up', '../../etc')),
    END,
  ])
  expect(await unpacking.run(archive, { links: 'inside' })).toEqual({
    ok: false,
    code: 'link_outside',
    entry: 'public/up',
    line: 312,
    message: 'entry 312, public/up: the link leads outside the archive; remove it or make it relative',
  })
})
