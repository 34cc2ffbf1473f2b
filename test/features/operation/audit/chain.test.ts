/** The hash chain: nothing is changed or taken out unnoticed, and what is deleted for its age leaves the rest provable. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { panelItself } from '../../../../src/core/actor.ts'
import { verifyChain } from '../../../../src/features/operation/audit/verify.ts'
import { type Customer, type Panel, startPanel } from '../../../harness/panel.ts'

const DAY_SECONDS = 86_400

let panel: Panel
let ada: Customer
beforeEach(async () => {
  panel = await startPanel()
  ada = await panel.customer()
  await panel.subscription(ada.id)
  for (let i = 0; i < 5; i++) await panel.post('/sites', ada.token, { domain: `site${i}.example` })
})
afterEach(() => panel.stop())

const verify = (anchor?: { id: number; hash: string }) => verifyChain(panel.services.store, anchor)

const TRIGGERS = [
  'audit_log_no_update',
  'audit_log_no_delete',
  'audit_log_in_order',
  'audit_head_forward',
  'audit_head_one_row',
  'audit_head_no_delete',
]

/** Changes the database file, as an intruder would past the panel. */
function tamper(...statements: string[]): void {
  using database = new Database(`${panel.data}/ncp.db`)
  for (const trigger of TRIGGERS) {
    database.run(`DROP TRIGGER IF EXISTS ${trigger}`)
  }
  for (const statement of statements) database.run(statement)
}

async function head() {
  const outcome = await verify()
  if (!outcome.valid) throw new Error(outcome.reason)
  return outcome.head
}

describe('the chain', () => {
  test('is proved when untouched', async () => {
    const last = await head()
    expect(await verify()).toEqual({ valid: true, entries: last.id, head: last })
    expect(await verify(last)).toMatchObject({ valid: true })
  })

  test('can be checked with any other program', () => {
    using database = new Database(`${panel.data}/ncp.db`, { readonly: true })
    const rows = database.query<Record<string, string | number | null>, []>('SELECT * FROM audit_log ORDER BY id').all()
    let previous = '0'.repeat(64)
    for (const { hash, ...columns } of rows) {
      const text = JSON.stringify([previous, ...Object.values(columns)])
      expect(createHash('sha256').update(text).digest('hex')).toBe(`${hash}`)
      previous = `${hash}`
    }
    expect(rows.length).toBeGreaterThan(5)
  })

  test.each([
    ['an address', "UPDATE audit_log SET address = '192.0.2.1' WHERE id = 5", 5],
    ['a time', 'UPDATE audit_log SET created_at = created_at + 1 WHERE id = 5', 5],
    ['what was done', `UPDATE audit_log SET details = '{}' WHERE id = 5`, 5],
    ['how often', 'UPDATE audit_log SET times = 2 WHERE id = 5', 5],
    ['a hash', `UPDATE audit_log SET hash = '${'0'.repeat(64)}' WHERE id = 5`, 5],
    ['the order', 'UPDATE audit_log SET id = CASE id WHEN 5 THEN -6 WHEN 6 THEN 5 END WHERE id IN (5, 6)', 5],
  ])('shows that %s was changed', async (_, statement, entryId) => {
    tamper(statement)
    expect(await verify()).toMatchObject({ valid: false, entryId })
  })

  test('shows that an entry was removed', async () => {
    tamper('DELETE FROM audit_log WHERE id = 5')
    expect(await verify()).toEqual({ valid: false, entryId: 5, reason: 'it is missing' })
  })

  test('shows that its end was cut off', async () => {
    tamper('DELETE FROM audit_log WHERE id > 5')
    expect(await verify()).toEqual({ valid: false, entryId: 6, reason: 'it is missing, with all later entries' })
  })

  test('shows that its end was cut off, even when entries have been written since', async () => {
    const last = await head()
    tamper(`DELETE FROM audit_log WHERE id >= ${last.id - 1}`)
    for (let i = 0; i < 5; i++) await panel.post('/sites', ada.token, { domain: `after${i}.example` })
    expect(await verify()).toEqual({
      valid: false,
      entryId: last.id,
      reason: 'it is not the one that audit_head names',
    })
  })

  test('shows an appended entry, and a missing head', async () => {
    const last = await head()
    tamper(
      `UPDATE audit_head SET entry_id = ${last.id - 1}, hash = (SELECT hash FROM audit_log WHERE id = ${last.id - 1})`,
    )
    expect(await verify()).toEqual({ valid: false, entryId: last.id, reason: 'audit_head does not know of it' })
    tamper('DELETE FROM audit_head')
    expect(await verify()).toMatchObject({ valid: false, reason: 'no row of audit_head says where the log ends' })
  })

  test('shows that its beginning was cut off as if it were too old', async () => {
    tamper(
      'INSERT INTO audit_horizon (id, entry_id, hash) SELECT 1, id, hash FROM audit_log WHERE id = 5',
      'DELETE FROM audit_log WHERE id <= 5',
    )
    expect(await verify()).toEqual({ valid: false, entryId: 5, reason: 'no entry records its deletion' })
  })

  test.each([0, -3])('shows an entry of id %d, before the first', async (id) => {
    tamper(
      `INSERT INTO audit_log (id, created_at, credential_kind, action, result, times, details, hash)
       VALUES (${id}, 1, 'none', 'request', 'success', 1, '{}', '')`,
    )
    expect(await verify()).toEqual({ valid: false, entryId: id, reason: 'it is older than the first entry of the log' })
  })

  test('shows an entry inserted below the expired ones', async () => {
    panel.clock.advance(400 * DAY_SECONDS)
    await panel.services.auditRetention.prune()
    expect(await verify()).toMatchObject({ valid: true })
    tamper(
      `INSERT INTO audit_log (id, created_at, credential_kind, action, result, times, details, hash)
       VALUES (2, 1, 'none', 'request', 'success', 1, '{}', '')`,
    )
    expect(await verify()).toMatchObject({ valid: false, entryId: 2 })
  })

  test('shows that there are two horizons', async () => {
    panel.clock.advance(400 * DAY_SECONDS)
    await panel.services.auditRetention.prune()
    tamper('INSERT INTO audit_horizon (id, entry_id, hash) SELECT 2, entry_id, hash FROM audit_horizon')
    expect(await verify()).toMatchObject({ valid: false, reason: expect.stringContaining('more than one row') })
  })

  test('shows a clock step that was never made, and one whose note is missing', async () => {
    tamper('INSERT INTO audit_clock_steps (entry_id) VALUES (5)')
    expect(await verify()).toMatchObject({ valid: false, entryId: 5 })
    tamper('DELETE FROM audit_clock_steps')
    expect(await verify()).toMatchObject({ valid: true })
    panel.clock.advance(-60)
    await panel.login(ada.email)
    expect(await verify()).toMatchObject({ valid: true })
    tamper('DELETE FROM audit_clock_steps')
    expect(await verify()).toMatchObject({ valid: false, reason: expect.stringContaining('clock') })
  })

  test('shows that it was rewritten, given an anchor', async () => {
    const anchor = await head()
    tamper('DELETE FROM audit_log', "UPDATE audit_head SET entry_id = 0, hash = printf('%064d', 0)")
    expect(await verify()).toMatchObject({ valid: true, entries: 0 })
    expect(await verify(anchor)).toMatchObject({ valid: false, entryId: anchor.id })
    for (let i = 0; i < 20; i++) await panel.post('/sites', ada.token, { domain: `anew${i}.example` })
    expect(await verify()).toMatchObject({ valid: true })
    expect(await verify(anchor)).toMatchObject({
      valid: false,
      entryId: anchor.id,
      reason: 'it differs from the anchor',
    })
  })

  test('stays one chain, with any number of writers', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => panel.post('/sites', ada.token, { domain: `parallel${i}.example` })),
    )
    expect(answers.every(({ status }) => status === 201)).toBe(true)
    expect(await verify()).toMatchObject({ valid: true })
  })
})

test('no action completes whose entry a foreign trigger swallows', async () => {
  using database = new Database(`${panel.data}/ncp.db`)
  database.run('CREATE TRIGGER swallow BEFORE INSERT ON audit_log BEGIN SELECT RAISE(IGNORE); END')
  expect((await panel.post('/sites', ada.token, { domain: 'swallowed.example' })).status).toBe(500)
  database.run('DROP TRIGGER swallow')
  const { data } = await panel.get<{ domain: string }[]>('/sites', ada.token)
  expect(data.map(({ domain }) => domain)).not.toContain('swallowed.example')
})

test('the database itself refuses to change or delete an entry, or to insert one out of order', () => {
  using database = new Database(`${panel.data}/ncp.db`)
  const columns = 'created_at, credential_kind, action, result, times, details, hash'
  for (const statement of [
    "UPDATE audit_log SET action = 'x' WHERE id = 5",
    'DELETE FROM audit_log WHERE id = 5',
    'DELETE FROM audit_log',
    `INSERT INTO audit_log (id, ${columns}) VALUES (3000, 1, 'none', 'x', 'success', 1, '{}', '')`,
    `INSERT OR REPLACE INTO audit_log (id, ${columns}) VALUES (5, 1, 'none', 'x', 'success', 1, '{}', '')`,
  ]) {
    expect(() => database.run(statement)).toThrow('audit_log is append-only')
  }
  for (const statement of [
    'UPDATE audit_head SET entry_id = entry_id - 1',
    "UPDATE audit_head SET hash = ''",
    'DELETE FROM audit_head',
    "INSERT INTO audit_head VALUES (2, 1, '')",
    "INSERT OR REPLACE INTO audit_head VALUES (1, 9999, '')",
  ]) {
    expect(() => database.run(statement)).toThrow('audit_head goes forward alone')
  }
})

describe('entries past their retention', () => {
  /** @returns how many entries there are, the oldest first id */
  async function entries(): Promise<{ count: number; firstId: number }> {
    const { rows } = await panel.services.auditLog.list({ limit: 1000, afterId: 0 })
    return { count: rows.length, firstId: rows.at(-1)?.id ?? 0 }
  }

  test('are deleted, and the chain of the rest is proved and continues', async () => {
    await panel.patch('/admin/settings', await panel.admin(), { audit_retention_days: 30 })
    const old = await head()
    panel.clock.advance(20 * DAY_SECONDS)
    const token = await panel.login(ada.email)
    await panel.post('/sites', token, { domain: 'young.example' })
    const young = await head()
    await panel.services.auditRetention.prune()
    expect((await entries()).firstId).toBe(1)
    panel.clock.advance(12 * DAY_SECONDS)
    await panel.services.auditRetention.prune()
    expect((await entries()).firstId).toBe(old.id + 1)
    expect(await verify()).toMatchObject({ valid: true })
    expect(await verify(young)).toMatchObject({ valid: true })
    expect(await verify(old)).toMatchObject({ valid: false, reason: 'it is no longer kept; take a newer anchor' })
    const { rows } = await panel.services.auditLog.list({ limit: 1, afterId: 0 })
    expect(rows[0]).toMatchObject({ action: 'audit.prune', credentialKind: 'panel' })
    expect(JSON.parse(rows[0]?.details ?? '')).toEqual({ from_id: 1, through_id: old.id, through_hash: old.hash })
    // Nothing more for today.
    const before = await entries()
    await panel.services.auditRetention.prune()
    expect(await entries()).toEqual(before)
  })

  test('are all deleted where nothing else happened for long, and the next entry follows', async () => {
    panel.clock.advance(400 * DAY_SECONDS)
    await panel.services.auditRetention.prune()
    expect((await entries()).count).toBe(1)
    expect(await verify()).toMatchObject({ valid: true, entries: 1 })
    await panel.login(ada.email)
    expect(await verify()).toMatchObject({ valid: true, entries: 2 })
  })

  test('are deleted in batches, however many there are', async () => {
    await panel.services.store.write(async (tx) => {
      for (let i = 0; i < 12_000; i++)
        await panel.services.auditLog.record(tx, panelItself, { action: 'request', accountId: null })
    })
    panel.clock.advance(400 * DAY_SECONDS)
    await panel.services.auditRetention.prune()
    expect((await entries()).count).toBe(7)
    expect(await verify()).toMatchObject({ valid: true, entries: 7 })
  }, 600_000)

  test('are left for the next run after the current batch when the panel stops', async () => {
    await panel.services.store.write(async (tx) => {
      for (let i = 0; i < 5000; i++)
        await panel.services.auditLog.record(tx, panelItself, { action: 'request', accountId: null })
    })
    panel.clock.advance(400 * DAY_SECONDS)
    using database = new Database(`${panel.data}/ncp.db`, { readonly: true })
    const firstId = () => (database.query('SELECT min(id) AS id FROM audit_log').get() as { id: number }).id
    const before = firstId()
    let asked = 0
    const stopping = Object.defineProperty(new AbortController().signal, 'aborted', { get: () => ++asked > 1 })
    await panel.services.auditRetention.prune(stopping)
    expect(firstId()).toBe(before + 2000)
    expect(await verify()).toMatchObject({ valid: true })
    await panel.services.auditRetention.prune()
    expect(firstId()).toBeGreaterThan(before + 5000)
  }, 600_000)

  test('still cannot be removed from the middle', async () => {
    panel.clock.advance(400 * DAY_SECONDS)
    await panel.services.auditRetention.prune()
    await panel.login(ada.email)
    using database = new Database(`${panel.data}/ncp.db`)
    expect(() => database.run('DELETE FROM audit_log')).toThrow('audit_log is append-only')
  })
})

test.each([0, 3651, 1.5, '30', null])('audit_retention_days cannot be %j', async (days) => {
  const answer = await panel.patch('/admin/settings', await panel.admin(), { audit_retention_days: days })
  expect(answer.status).toBe(typeof days === 'number' && Number.isInteger(days) ? 422 : 400)
})
