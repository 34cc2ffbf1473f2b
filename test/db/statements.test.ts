/** Statements of our own: what each word gives, on each connection. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { openStore } from '../../src/db/sqlite/store.ts'
import { given, one, prepare } from '../../src/db/statements.ts'
import type { Store } from '../../src/db/store.ts'
import { settings } from '../../src/db/tables.ts'

let directory: string
let store: Store
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ncp-test-'))
  store = openStore(join(directory, 'ncp.db'), 0)
})
afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true })
})

const find = prepare((queries) =>
  queries
    .select()
    .from(settings)
    .where(eq(settings.key, given('key'))),
)
const put = prepare((tx) => tx.insert(settings).values({ key: given('key'), value: '1', updatedAt: 0 }))
const change = prepare((tx) =>
  tx
    .update(settings)
    .set({ value: given('value') })
    .where(eq(settings.key, given('key')))
    .returning(),
)
const row = (value = '1') => ({ key: 'a', value, updatedAt: 0 })

test('a prepared statement runs on any connection it is given', async () => {
  await store.write(async (tx) => {
    await put.run(tx, { key: 'a' })
    expect(await find.all(tx, { key: 'a' })).toEqual([row()])
    expect(await find.all(store.read, { key: 'a' })).toEqual([])
  })
  expect(await find.all(store.read, { key: 'a' })).toEqual([row()])
})

test('it answers synchronously: a request that awaits nothing takes no turn of the event loop', () => {
  expect(find.all(store.read, { key: 'a' })).toEqual([])
  expect(find.first(store.read, { key: 'a' })).toBeUndefined()
})

test('`first` returns a row or nothing, `one` a row or an error', async () => {
  await store.write(async (tx) => {
    expect(await change.first(tx, { key: 'a', value: '2' })).toBeUndefined()
    expect(() => change.one(tx, { key: 'a', value: '2' })).toThrow('returned none')
    await put.run(tx, { key: 'a' })
    expect(await change.one(tx, { key: 'a', value: '2' })).toEqual(row('2'))
    expect(await change.first(tx, { key: 'a', value: '3' })).toEqual(row('3'))
    expect(await one(tx.select().from(settings))).toEqual(row('3'))
    expect(one(tx.select().from(settings).where(eq(settings.key, 'b')))).rejects.toThrow('returned none')
  })
})
