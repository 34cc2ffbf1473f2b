/** The store: one writer at a time, all or nothing, and a version that moves with every commit. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { copyFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openStore, type SqliteStore } from '../../src/db/sqlite/store.ts'
import type { Queries } from '../../src/db/store.ts'
import { settings, users } from '../../src/db/tables.ts'
import { newDirectory } from '../harness/directory.ts'
import { mapsIndex } from '../harness/workarounds.ts'

let directory: string
let store: SqliteStore
beforeEach(() => {
  directory = newDirectory()
  store = openStore(join(directory, 'ncp.db'), 0, { mapsIndex })
})
afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true })
})

const put = (tx: Queries, key: string) => tx.insert(settings).values({ key, value: '1', updatedAt: 0 })
const keys = async () => (await store.read.select().from(settings)).map(({ key }) => key)

test('a transaction that throws after an await leaves nothing behind', async () => {
  const failed = store.write(async (tx) => {
    await put(tx, 'a')
    await Promise.resolve()
    throw new Error('no')
  })
  await expect(failed).rejects.toThrow('no')
  expect(await keys()).toEqual([])
})

test('transactions run one after the other, even after one has failed', async () => {
  const order: string[] = []
  const write = (name: string, fails = false) =>
    store.write(async (tx) => {
      order.push(`${name} begins`)
      await put(tx, name)
      await Promise.resolve()
      order.push(`${name} ends`)
      if (fails) throw new Error('no')
    })
  await Promise.allSettled([write('a'), write('b', true), write('c')])
  expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  expect(await keys()).toEqual(['a', 'c'])
})

test('the version changes with a commit of this process or another connection, and only then', async () => {
  const first = store.version()
  await store.read.select().from(settings)
  expect(store.version()).toBe(first)
  await store.write(async (tx) => put(tx, 'a'))
  const second = store.version()
  expect(second).not.toBe(first)
  using other = new Database(join(directory, 'ncp.db'))
  other.run("INSERT INTO settings VALUES ('b', '1', 0)")
  expect(store.version()).not.toBe(second)
})

test('no request is served from the version an earlier request read, even in one packet or at the same moment', async () => {
  using other = new Database(join(directory, 'ncp.db'))
  const seen: number[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch() {
      seen.push(store.version(), store.version())
      other.run("INSERT OR REPLACE INTO settings VALUES ('b', '1', 0)")
      return new Response()
    },
  })
  const request = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const answered = Promise.withResolvers<void>()
  const connect = async (requests: number) => {
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: server.port ?? 0,
      socket: {
        data() {
          if (seen.length === 2 * 16) answered.resolve()
        },
      },
    })
    socket.write(request.repeat(requests))
    return socket
  }
  const sockets = await Promise.all([8, 1, 1, 1, 1, 1, 1, 1, 1].map(connect))
  await answered.promise
  for (const socket of sockets) socket.end()
  await server.stop(true)
  const pairs = Array.from({ length: 16 }, (_, i) => seen.slice(2 * i, 2 * i + 2))
  for (const [first, second] of pairs) expect(second).toBe(first)
  expect(new Set(pairs.map(([version]) => version)).size).toBe(16)
})

test('a write without a durability promise is atomic, takes its turn, and leaves the next one durable', async () => {
  const soon = store.writeSoon(async (tx) => put(tx, 'soon'))
  const promised = store.write(async (tx) => {
    await put(tx, 'promised')
    return (await tx.all<{ synchronous: number }>('PRAGMA synchronous'))[0]?.synchronous
  })
  await soon
  // 2 is FULL.
  expect(await promised).toBe(2)
  const failed = store.writeSoon(async (tx) => {
    await put(tx, 'failed')
    throw new Error('no')
  })
  await expect(failed).rejects.toThrow('no')
  expect(await keys()).toEqual(['soon', 'promised'])
})

test('a read cannot write', async () => {
  expect(async () => await store.read.insert(settings).values({ key: 'a', value: '1', updatedAt: 0 })).toThrow()
})

test('a write waits for another process’s lock without blocking readers, and continues once it is free', async () => {
  using other = new Database(join(directory, 'ncp.db'))
  other.run('BEGIN IMMEDIATE')
  const written = store.write(async (tx) => put(tx, 'a'))
  await Bun.sleep(0)
  expect(await keys()).toEqual([])
  other.run('ROLLBACK')
  await written
  expect(await keys()).toEqual(['a'])
})

test('a closed store is complete in its one file', async () => {
  const path = join(directory, 'closed.db')
  const closing = openStore(path, 0, { mapsIndex })
  await closing.write(async (tx) => put(tx, 'a'))
  await closing.close()
  copyFileSync(path, join(directory, 'copy.db'))
  using copy = new Database(join(directory, 'copy.db'))
  expect(copy.query('SELECT key FROM settings').all()).toEqual([{ key: 'a' }])
})

test('files are readable only by their owner', async () => {
  await store.write(async (tx) => put(tx, 'a'))
  const files = readdirSync(directory)
  expect(files).toContain('ncp.db-wal')
  for (const name of files) expect([name, statSync(join(directory, name)).mode & 0o777]).toEqual([name, 0o600])
})

test('foreign keys are on, and an id is never reused', async () => {
  const user = { name: 'a', role: 'customer', status: 'active', createdAt: 0, updatedAt: 0 } as const
  const insert = (email: string) =>
    store.write(async (tx) =>
      tx
        .insert(users)
        .values({ ...user, email })
        .returning()
        .get(),
    )
  const first = await insert('a@example.com')
  await store.write(async (tx) => tx.delete(users))
  expect((await insert('b@example.com')).id).toBe(first.id + 1)
  using writer = new Database(join(directory, 'ncp.db'))
  writer.run('PRAGMA foreign_keys = ON')
  expect(() => writer.run("INSERT INTO recovery_codes VALUES (99, 'x')")).toThrow()
})
