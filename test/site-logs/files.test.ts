/** The logs of sites on disk: written in parts, kept for a while, read backwards. */
import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AccessEntry, writeEntry } from '../../src/site-logs/access-entry.ts'
import { dayOf, MAX_PART_BYTES, MAX_TOTAL_BYTES, pruneLogFiles } from '../../src/site-logs/log-files.ts'
import { createLogWriter } from '../../src/site-logs/log-writer.ts'
import { readLog } from '../../src/site-logs/read-log.ts'
import { newDirectory } from '../harness/directory.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const NOW = Date.UTC(2026, 11, 3, 12)

const entry: AccessEntry = {
  at: NOW,
  client: '203.0.113.9',
  scheme: 'http',
  host: 'a.example',
  method: 'GET',
  uri: '/',
  status: 200,
  bytes: 12,
  durationMs: 0.4,
  referer: '',
  userAgent: 'test',
}

function open(days = 14) {
  const directory = join(newDirectory('ncp-logs-'), '7')
  const writer = createLogWriter({ placeOf: (siteId) => (siteId === 7 ? { directory } : undefined), days: () => days })
  const write = (text: string, at = NOW) => writer.append(7, 'access', text, at)
  const read = (lines: number, search: string | null = null) => readLog(directory, { kind: 'access', lines, search })
  return { directory, writer, write, read }
}

test('lines of a day are in one file that nobody else can read', async () => {
  const { directory, write, read } = open()
  await write('one\n')
  await write('two\nthree\n')
  expect(readdirSync(directory)).toEqual(['access-2026-12-03.log'])
  expect(statSync(join(directory, 'access-2026-12-03.log')).mode & 0o777).toBe(0o600)
  expect(statSync(directory).mode & 0o777).toBe(0o700)
  expect(await read(10)).toEqual(['one', 'two', 'three'])
  expect(await read(2)).toEqual(['two', 'three'])
})

test('a writer that starts again goes on in the same file', async () => {
  const { directory, write } = open()
  await write('one\n')
  const again = createLogWriter({ placeOf: () => ({ directory }), days: () => 14 })
  await again.append(7, 'access', 'two\n', NOW)
  expect(readFileSync(join(directory, 'access-2026-12-03.log'), 'utf8')).toBe('one\ntwo\n')
})

test('a directory that was deleted is made again', async () => {
  const { directory, write, read } = open()
  await write('one\n')
  await Bun.$`rm -r ${directory}`
  await write('two\n')
  expect(await read(10)).toEqual(['two'])
})

test('nothing is written for a site that is not here', async () => {
  const { directory, writer } = open()
  await writer.append(8, 'access', 'one\n', NOW)
  expect(existsSync(directory)).toBeFalse()
})

test('a link in place of a file is not followed, neither to write nor to read', async () => {
  const { directory, write, read } = open()
  const secret = join(newDirectory('ncp-secret-'), 'secret')
  writeFileSync(secret, 'secret\n')
  mkdirSync(directory)
  symlinkSync(secret, join(directory, 'access-2026-12-03.log'))
  await expect(write('one\n')).rejects.toThrow('ELOOP')
  expect(readFileSync(secret, 'utf8')).toBe('secret\n')
  expect(await read(10)).toEqual([])
})

test('a new day and a full part begin a new file; old days are deleted', async () => {
  const { directory, write, read } = open(3)
  for (const day of [0, 1, 2, 3]) await write(`day ${day}\n`, NOW + day * DAY_MS)
  expect(readdirSync(directory).sort()).toEqual([
    'access-2026-12-04.log',
    'access-2026-12-05.log',
    'access-2026-12-06.log',
  ])
  const line = `${'x'.repeat(1023)}\n`
  await write(line.repeat(MAX_PART_BYTES / 1024), NOW + 3 * DAY_MS)
  await write('next part\n', NOW + 3 * DAY_MS)
  expect(readdirSync(directory)).toContain('access-2026-12-06.1.log')
  expect((await read(2)).map((line) => line.length)).toEqual([1023, 9])
})

test('files of one site never take more than the most they may, and the newest lines are the ones that stay', async () => {
  const { directory, write, read } = open()
  const part = `${'y'.repeat(1023)}\n`.repeat(MAX_PART_BYTES / 1024)
  for (let count = 0; count < 12; count++) await write(`${part}part ${count}\n`)
  const sizes = readdirSync(directory).map((name) => statSync(join(directory, name)).size)
  expect(sizes.length).toBeGreaterThan(5)
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(MAX_TOTAL_BYTES + MAX_PART_BYTES)
  expect(await read(1)).toEqual(['part 11'])
})

test('logs of a site without visitors are deleted too', async () => {
  const { directory, write } = open()
  await write('one\n', NOW - 14 * DAY_MS)
  await pruneLogFiles(directory, 'access', { now: NOW - DAY_MS, days: 14 })
  expect(readdirSync(directory)).toEqual([`access-${dayOf(NOW - 14 * DAY_MS)}.log`])
  await pruneLogFiles(directory, 'access', { now: NOW, days: 14 })
  expect(readdirSync(directory)).toEqual([])
})

test('lines that lie across the pieces of a file are read whole, the oldest of them first', async () => {
  const { write, read } = open()
  const lines = Array.from({ length: 5000 }, (_, number) => `${number} ${'ä€😀'.repeat(number % 40)}`)
  await write(`${lines.join('\n')}\n`)
  expect(await read(5000)).toEqual(lines)
  expect(await read(3)).toEqual(lines.slice(-3))
  expect(await read(10, '4321 ')).toEqual([lines[4321] ?? ''])
})

test('an answer is bounded, whatever the length of the lines', async () => {
  const { write, read } = open()
  await write(`${'z'.repeat(300_000)}\n`.repeat(5))
  const answer = await read(1000)
  expect(answer.join('').length).toBeLessThanOrEqual(512 * 1024)
  expect(answer.length).toBeGreaterThan(1)
})

test('a search looks at values, in any case, and not at the names of fields', async () => {
  const { write, read } = open()
  const hostile = { ...entry, uri: '/a"b\\c\n{"status":500}', userAgent: 'Übel\u0000\u2028' }
  await write(`${writeEntry(entry)}\n${writeEntry(hostile)}\n`)
  expect(await read(10, 'STATUS"')).toEqual([writeEntry(hostile)])
  expect(await read(10, 'user_agent')).toEqual([])
  expect(await read(10, 'a"b\\c')).toEqual([writeEntry(hostile)])
  expect(await read(10, 'übel')).toEqual([writeEntry(hostile)])
  expect(await read(10, 'A.EXAMPLE')).toHaveLength(2)
})

test('a hostile request is one line, and what it sent is cut', () => {
  const long = 'x'.repeat(20_000)
  const line = writeEntry({ ...entry, uri: `/\r\n${long}`, referer: long, userAgent: long })
  expect(line).not.toContain('\n')
  expect(line.length).toBeLessThan(5000)
  expect(JSON.parse(line)).toMatchObject({
    time: '2026-12-03T12:00:00.000Z',
    client: '203.0.113.9',
    status: 200,
    bytes: 12,
  })
})
