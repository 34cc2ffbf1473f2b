/** The last use of keys and sessions, also when it cannot be written for a while. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../../../src/db/sqlite/store.ts'
import type { Queries, Store } from '../../../src/db/store.ts'
import { apiKeys, users } from '../../../src/db/tables.ts'
import { createUsage, type Usage } from '../../../src/features/account/credentials/usage.ts'
import { createTestClock, type TestClock } from '../../harness/clock.ts'
import { newDirectory } from '../../harness/directory.ts'
import { createTestLog, type TestLog } from '../../harness/log.ts'
import { mapsIndex } from '../../harness/workarounds.ts'

let directory: string
let store: Store
let clock: TestClock
let log: TestLog
let usage: Usage
/** Thrown by the next transactions, as by a full disk. */
let failure: Error | undefined
beforeEach(async () => {
  directory = newDirectory()
  clock = createTestClock(1_000_000)
  log = createTestLog()
  failure = undefined
  store = openStore(join(directory, 'ncp.db'), 0, { mapsIndex })
  const failing: Store = {
    ...store,
    writeSoon: (work) =>
      store.writeSoon(async (tx) => {
        const result = await work(tx)
        if (failure) throw failure
        return result
      }),
  }
  usage = createUsage({ store: failing, clock, log })
  await store.writeSoon(async (tx: Queries) => {
    const times = { createdAt: 1, updatedAt: 1 }
    await tx
      .insert(users)
      .values({ id: 1, email: 'a@example.com', name: 'A', role: 'customer', status: 'active', ...times })
    const key = { userId: 1, name: 'k', keyPrefix: 'ncp_', createdAt: 1 }
    await tx.insert(apiKeys).values([1, 2].map((id) => ({ ...key, id, keyHash: `${id}` })))
  })
})
afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true })
})

const use = (keyId: number) => usage.record({ kind: 'api_key', keyId, secretHash: '', expiresAt: null })
const lastUsed = async () => (await store.read.select().from(apiKeys)).map(({ lastUsedAt }) => lastUsedAt)

test('is kept when a write fails, and written the next time unless there is something newer', async () => {
  use(1)
  use(2)
  failure = new Error('disk full')
  await expect(usage.flush()).rejects.toThrow('disk full')
  clock.advance(5)
  use(2)
  // Who reads next is not told of it; the operator is.
  await usage.settle()
  expect(log.text()).toContain('the last use of credentials was not written')
  expect(await lastUsed()).toEqual([null, null])
  failure = undefined
  await usage.flush()
  expect(await lastUsed()).toEqual([1_000_000, 1_005_000])
})

test('that is being written is waited for by the next read', async () => {
  use(1)
  const first = usage.flush()
  await usage.settle()
  expect(await lastUsed()).toEqual([1_000_000, null])
  await first
})
