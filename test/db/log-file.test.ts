/** SQLite's log rewritten: every frame is verified first, and none is changed. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mapWalIndex } from '../../src/db/sqlite/fast/wal-index.ts'
import { rewriteLog } from '../../src/db/sqlite/log-file.ts'

let directory: string
let database: Database
let log: number
let frames: number
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ncp-test-'))
  const path = join(directory, 'ncp.db')
  database = new Database(path)
  database.run('PRAGMA journal_mode = WAL')
  database.run('CREATE TABLE t (text TEXT)')
  for (let count = 0; count < 20; count++) database.query('INSERT INTO t VALUES (?)').run('x'.repeat(count * 500))
  frames = mapWalIndex(path)?.frames() ?? 0
  log = openSync(`${path}-wal`, 'r+')
})
afterEach(() => {
  closeSync(log)
  database.close()
  rmSync(directory, { recursive: true })
})

const content = () => readFileSync(join(directory, 'ncp.db-wal'))

test('an unchanged log stays as it is, and can be appended to', () => {
  expect(frames).toBeGreaterThan(20)
  const before = content()
  rewriteLog(log, frames)
  expect(content()).toEqual(before)
  database.run("INSERT INTO t VALUES ('after')")
  expect(database.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
})

test.each([
  ['its header', 20, 0],
  ['the header of a frame', 32 + 4120 * 3 + 2, 4],
  ['a page', 32 + 4120 * 7 + 1000, 8],
])('a log with a changed byte in %s is refused, and not written to', (_, at, frame) => {
  writeSync(log, Buffer.from([content()[at] === 1 ? 2 : 1]), 0, 1, at)
  const before = content()
  expect(() => rewriteLog(log, frames)).toThrow(`the log no longer reads as it was written, from frame ${frame} on`)
  expect(content()).toEqual(before)
})

test('a log that is shorter than before is refused', () => {
  expect(() => rewriteLog(log, frames + 1)).toThrow('the log is shorter than it was')
})
