/** A log from before there was an audit head: its chain is proven as it was, in its backup and after the migration. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../../../src/db/sqlite/migrate.ts'
import { migrations } from '../../../../src/db/sqlite/migrations.ts'
import { openStore } from '../../../../src/db/sqlite/store.ts'
import { GENESIS_HASH, hashEntry } from '../../../../src/features/operation/audit/chain.ts'
import { auditProblems } from '../../../../src/features/operation/audit/prove-file.ts'
import { type Verification, verifyChain } from '../../../../src/features/operation/audit/verify.ts'

const BEFORE = migrations.slice(
  0,
  migrations.findIndex(({ name }) => name === '0009_audit-head'),
)
const ENTRIES = 5

let directory: string
let path: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ncp-test-'))
  path = join(directory, 'ncp.db')
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Makes a database of the schema before, with a chain in it. @returns the hashes by id, the first at 1 */
function createBefore(entries: number, ...after: string[]): string[] {
  using database = new Database(path, { create: true, strict: true })
  migrate(database, { path, nowMs: 0, migrations: BEFORE })
  const hashes = [GENESIS_HASH]
  for (let id = 1; id <= entries; id++) {
    const entry = {
      id,
      createdAt: id,
      actorId: null,
      credentialKind: 'operator' as const,
      credentialId: null,
      address: null,
      requestId: null,
      action: 'site.create' as const,
      accountId: null,
      targetType: null,
      targetId: null,
      result: 'success' as const,
      reason: null,
      times: 1,
      details: '{}',
    }
    const hash = hashEntry(hashes.at(-1) ?? '', entry)
    hashes.push(hash)
    database.run(
      `INSERT INTO audit_log (id, created_at, credential_kind, action, result, times, details, hash)
       VALUES (?, ?, 'operator', 'site.create', 'success', 1, '{}', ?)`,
      [id, id, hash],
    )
  }
  for (const statement of after) database.run(statement)
  return hashes
}

async function verifyMigrated(): Promise<Verification> {
  const store = openStore(path, 0)
  try {
    return await verifyChain(store)
  } finally {
    await store.close()
  }
}

/** As an intruder with the file would. */
const cutOff = (condition: string) => ['DROP TRIGGER audit_log_no_delete', `DELETE FROM audit_log WHERE ${condition}`]

describe('a log from before there was a head', () => {
  test.each([0, ENTRIES])('of %d entries is intact, in its backup and after the migration', async (entries) => {
    const hashes = createBefore(entries)
    expect(await auditProblems(path)).toEqual([])
    const head = { id: entries, hash: hashes[entries] }
    expect(await verifyMigrated()).toMatchObject({ valid: true, entries, head })
  })

  test('whose last entries were cut off is broken, in its backup and after the migration', async () => {
    createBefore(ENTRIES, ...cutOff('id > 3'))
    expect(await auditProblems(path)).toEqual([
      'the audit log is broken at entry 4: it is missing, with all later entries',
    ])
    expect(await verifyMigrated()).toMatchObject({ valid: false, entryId: 4 })
  })

  test('with only expired entries ends at its horizon', async () => {
    createBefore(
      ENTRIES,
      `INSERT INTO audit_horizon SELECT 1, id, hash FROM audit_log WHERE id = ${ENTRIES}`,
      `DELETE FROM audit_log WHERE id <= ${ENTRIES}`,
    )
    await verifyMigrated()
    using database = new Database(path, { readonly: true })
    expect(database.query('SELECT * FROM audit_head').all()).toEqual(
      database.query('SELECT * FROM audit_horizon').all(),
    )
  })
})
