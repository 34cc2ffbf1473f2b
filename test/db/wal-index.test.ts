/** The WAL index says the same whether it is read from memory or asked of SQLite, and its version moves with every commit. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { mapWalIndex } from '../../src/db/sqlite/fast/wal-index.ts'
import { askWalIndex, type WalIndex } from '../../src/db/sqlite/wal-index.ts'

let path: string
let writer: Database
let reader: Database
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'ncp-test-')), 'data.db')
  writer = new Database(path)
  writer.run('PRAGMA journal_mode = WAL')
  writer.run('CREATE TABLE t (n INTEGER)')
  reader = new Database(path, { readonly: true })
  reader.query('SELECT * FROM t').all()
})
afterEach(() => {
  reader.close()
  writer.close()
  rmSync(join(path, '..'), { recursive: true })
})

/** From memory, and by a question to SQLite. */
const ways = {
  mapped: () => mapWalIndex(path) ?? fail('it cannot be mapped'),
  asked: () => askWalIndex(reader),
}

describe.each(['mapped', 'asked'] as const)('the version of an index that is %s', (way) => {
  test('changes only with a commit', () => {
    const version = ways[way]().version
    const first = version()
    reader.query('SELECT * FROM t').all()
    writer.run('BEGIN IMMEDIATE')
    writer.run('INSERT INTO t VALUES (1)')
    expect(version()).toBe(first)
    writer.run('ROLLBACK')
    expect(version()).toBe(first)
    writer.run('BEGIN IMMEDIATE')
    writer.run('INSERT INTO t VALUES (1)')
    writer.run('COMMIT')
    expect(version()).not.toBe(first)
    expect(version()).toBe(version())
  })

  test('changes with a commit reported by another process', async () => {
    const version = ways[way]().version
    const program = `
      const db = new (require('bun:sqlite').Database)(process.argv[1])
      for await (const line of console) { db.run('INSERT INTO t VALUES (3)'); process.stdout.write('done\\n') }`
    const child = Bun.spawn([process.execPath, '-e', program, path], { stdin: 'pipe', stdout: 'pipe' })
    const said = child.stdout.getReader()
    for (let i = 0; i < 50; i++) {
      const before = version()
      child.stdin.write('go\n')
      child.stdin.flush()
      await said.read()
      expect(version()).not.toBe(before)
    }
    child.stdin.end()
    await child.exited
  })
})

test('both ways agree, whatever the connections do', () => {
  const mapped = ways.mapped()
  const asked = ways.asked()
  using other = new Database(path)
  const steps: Record<string, () => unknown> = {
    write: () => writer.run('INSERT INTO t VALUES (1)'),
    foreignWrite: () => other.run('INSERT INTO t VALUES (2)'),
    large: () =>
      other.run(
        'INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n',
      ),
    rollback: () => other.transaction(() => fail(other.run('DELETE FROM t')))(),
    empty: () => other.run('BEGIN IMMEDIATE; COMMIT'),
    checkpoint: () => other.run('PRAGMA wal_checkpoint(TRUNCATE)'),
    read: () => other.query('SELECT count(*) FROM t').get(),
    vacuum: () => other.run('VACUUM'),
  }
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...Object.keys(steps)), { minLength: 1, maxLength: 40 }), (names) => {
      for (const name of names) {
        const before = [asked.version(), mapped.version()]
        try {
          steps[name]?.()
        } catch {}
        const after = [asked.version(), mapped.version()]
        if (after[0] !== before[0]) expect(`${name} ${after[1]}`).not.toBe(`${name} ${before[1]}`)
        const counts = ({ frames, moved, backlog }: WalIndex) => ({
          name,
          frames: frames(),
          moved: moved(),
          backlog: backlog(),
        })
        expect(counts(mapped)).toEqual(counts(asked))
      }
    }),
    { numRuns: 20 },
  )
})

function fail(why: unknown): never {
  throw new Error(`${why}`)
}
