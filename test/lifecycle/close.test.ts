/** The end of a panel that can no longer write. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { seizeDirectory } from '../../src/db/sqlite/data-lock.ts'
import { newDirectory } from '../harness/directory.ts'
import { startPanel } from '../harness/panel.ts'

test.each(['sessions', 'audit_log'])('releases the data directory when %s can no longer be written', async (table) => {
  const data = newDirectory()
  const panel = await startPanel({ data })
  const ada = await panel.customer()
  // To be written at the end: that a session was used, and that a request was refused.
  await panel.get('/admin/users', ada.token)
  {
    using database = new Database(join(data, 'ncp.db'))
    database.run(`ALTER TABLE ${table} RENAME TO ${table}_gone`)
  }
  expect(seizeDirectory(data)).toBeUndefined()
  await expect(panel.stop()).rejects.toThrow()
  const release = seizeDirectory(data)
  expect(release).toBeFunction()
  release?.()
  rmSync(data, { recursive: true })
})

test('writes what it can when some data can no longer be written', async () => {
  const data = newDirectory()
  const panel = await startPanel({ data })
  const ada = await panel.customer()
  await panel.get('/admin/users', ada.token)
  using database = new Database(join(data, 'ncp.db'))
  database.run('ALTER TABLE sessions RENAME TO sessions_gone')
  const refusals = () => database.query("SELECT actor_id FROM audit_log WHERE action = 'request'").all()
  expect(refusals()).toEqual([])
  await expect(panel.stop()).rejects.toThrow(/sessions/)
  expect(refusals()).toEqual([{ actor_id: ada.id }])
  rmSync(data, { recursive: true })
})

test('closes each module while what it writes to is still open', async () => {
  const data = newDirectory()
  const panel = await startPanel({ data })
  const { status } = await panel.post('/auth/password-reset', undefined, { email: 'nobody@example.com' })
  expect(status).toBe(200)
  await panel.stop()
  // The request waited in memory; that it failed was noted in memory too, at the end.
  using database = new Database(join(data, 'ncp.db'))
  const failures = database.query("SELECT reason FROM audit_log WHERE action = 'auth.password_reset_request'")
  expect(failures.all()).toEqual([{ reason: 'not found' }])
  rmSync(data, { recursive: true })
})
