/** Waking what waits for a change of the database, whichever process made it. */
import { afterAll, expect, test } from 'bun:test'
import { createCommitSignal } from '../../src/db/commit-signal.ts'
import { openStore } from '../../src/db/sqlite/store.ts'
import { settings } from '../../src/db/tables.ts'
import { newDirectory } from '../harness/directory.ts'

const path = `${newDirectory()}/ncp.db`
const [ours, others] = [openStore(path, 0), openStore(path, 0)]
afterAll(() => Promise.all([ours.close(), others.close()]))

const write = (store: typeof ours, value: string) =>
  store.write((tx) => tx.insert(settings).values({ key: value, value, updatedAt: 0 }))
const never = new AbortController().signal

test('is at once for a write of this process', async () => {
  const { next } = createCommitSignal(ours)
  const change = next(never)
  await write(ours, 'one')
  await change
})

test('is at the next look for one of another process', async () => {
  const { next, poll } = createCommitSignal(ours)
  await poll()
  let isWoken = false
  const change = next(never).then(() => {
    isWoken = true
  })
  await poll()
  expect(isWoken).toBeFalse()
  await write(others, 'two')
  await poll()
  await change
})

test('ends with the patience of the one who waits', async () => {
  const { next } = createCommitSignal(ours)
  const patience = new AbortController()
  const change = next(patience.signal)
  patience.abort()
  await change
  await next(patience.signal)
})
