/** Waiting for a change of the database, by this process or another. */
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

test('resolves at once for a write of this process', async () => {
  const { next } = createCommitSignal(ours)
  const change = next(never)
  await write(ours, 'one')
  await change
})

test('resolves at the next poll for a write of another process', async () => {
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

test('resolves when it is aborted', async () => {
  const { next } = createCommitSignal(ours)
  const patience = new AbortController()
  const change = next(patience.signal)
  patience.abort()
  await change
  await next(patience.signal)
})
