/** The thread that waits for the disk: it comes when there is much to write, and nothing depends on it. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKPOINT_PAGES, createCheckpointPace } from '../../src/db/sqlite/checkpoint-pace.ts'
import { createDiskThread, type DiskThread } from '../../src/db/sqlite/fast/disk-thread.ts'
import { mapWalIndex } from '../../src/db/sqlite/fast/wal-index.ts'
import type { WalIndex } from '../../src/db/sqlite/wal-index.ts'
import { openFile } from '../../src/system/open-files.ts'
import { DISK_THREAD } from '../../src/threads.ts'
import { until } from '../harness/until.ts'

let directory: string
let writer: Database
let index: WalIndex
let log: number
const disks: DiskThread[] = []
/** What the thread left in doubt. */
const doubts: unknown[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ncp-test-'))
  const path = join(directory, 'data.db')
  writer = new Database(path)
  writer.run('PRAGMA journal_mode = WAL')
  writer.run('PRAGMA wal_autocheckpoint = 0')
  writer.run('CREATE TABLE t (n INTEGER)')
  index = mapWalIndex(path) ?? fail('no index')
  log = openFile(`${path}-wal`) ?? fail('no log')
})
afterEach(async () => {
  for (const disk of disks.splice(0)) await disk.stop()
  doubts.length = 0
  writer.close()
  rmSync(directory, { recursive: true })
})

function fail(message: string): never {
  throw new Error(message)
}

function create(thread = DISK_THREAD, descriptor = log): DiskThread {
  const disk = createDiskThread({
    thread,
    files: { database: join(directory, 'data.db'), log: descriptor },
    pace: createCheckpointPace(index.backlog),
    onDoubt: (file, { message }) => doubts.push([file, message]),
  })
  disks.push(disk)
  return disk
}

async function started(disk: DiskThread): Promise<DiskThread> {
  await until('the thread', () => disk.isReady())
  return disk
}

/** A thread that does something else than ours. @param onJob what it does for a job, named `job` */
function threadThat(onJob: string): URL {
  const path = join(directory, 'thread.ts')
  writeFileSync(
    path,
    `let syncs = 0
     self.onmessage = ({ data: job }) => {
       if (typeof job !== 'string') return self.postMessage({ done: 'start' })
       if (job === 'end') return self.postMessage({ done: 'end' })
       ${onJob}
     }`,
  )
  return new URL(`file://${path}`)
}

const fill = (pages: number) =>
  writer.run(
    `INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${pages * 500}) SELECT i FROM n`,
  )

test('one write alone does not start it; a second right after does', async () => {
  const disk = create()
  expect(disk.isReady()).toBe(false)
  await Bun.sleep(0)
  expect(disk.isReady()).toBe(false)
  await started(disk)
  await disk.sync()
})

test('requests that arrive during a sync share the next one', async () => {
  const disk = await started(
    create(threadThat(`if (++syncs <= 2) self.postMessage({ done: 'sync' }); else throw new Error('a third')`)),
  )
  await Promise.all(Array.from({ length: 10 }, () => disk.sync()))
})

test('a failed sync is reported to all callers, and to all later ones until the log is proved', async () => {
  const disk = await started(create(DISK_THREAD, 1_000_000))
  const asked = [disk.sync(), disk.sync()]
  for (const answer of await Promise.allSettled(asked)) expect(answer).toMatchObject({ reason: { code: 'EBADF' } })
  expect(doubts).toHaveLength(1)
  expect(disk.sync()).rejects.toMatchObject({ code: 'EBADF' })
})

test('after a failed sync no other is attempted, even one that would succeed', async () => {
  const disk = await started(
    create(
      threadThat(`syncs++
        const failure = { message: 'gone', code: 'EIO', doubt: 'log' }
        setTimeout(() => self.postMessage(syncs === 1 ? { done: 'sync', failure } : { done: 'sync' }), 20)`),
    ),
  )
  const asked = [disk.sync(), disk.sync(), disk.sync()]
  for (const answer of await Promise.allSettled(asked)) expect(answer).toMatchObject({ reason: { code: 'EIO' } })
  expect(disk.sync()).rejects.toMatchObject({ code: 'EIO' })
  expect(doubts).toEqual([['log', 'gone']])
  disk.trust()
  await disk.sync()
})

describe('a thread that dies', () => {
  test('leaves no caller waiting, and reports what was asked of it as in doubt', async () => {
    const disk = await started(create(threadThat(`throw new Error('gone')`)))
    for (const answer of await Promise.allSettled([disk.sync(), disk.sync()])) expect(answer.status).toBe('rejected')
    expect(doubts).toEqual([['log', 'the thread that waits for the disk died']])
    expect(disk.isReady()).toBe(false)
  })

  test('before the sync of a transaction leaves that sync to the event loop', async () => {
    const disk = await started(create(threadThat(`if (job === 'checkpoint') throw new Error('gone')`)))
    fill(CHECKPOINT_PAGES * 2)
    disk.checkpoint()
    await until('its end', () => !disk.isReady())
    expect(doubts).toEqual([['database', 'the thread that waits for the disk died']])
    disk.trust()
    await disk.sync()
  })

  test('does not hide a disk failure', async () => {
    const disk = create(DISK_THREAD, 1_000_000)
    expect(await disk.sync().catch((error) => error.code)).toBe('EBADF')
    expect(doubts).toHaveLength(1)
  })
})

describe('a checkpoint', () => {
  test('is not made while the log is small', async () => {
    const disk = await started(create())
    fill(10)
    const before = index.backlog()
    disk.checkpoint()
    await disk.sync()
    expect(index.backlog()).toBe(before)
  })

  test('moves the log into the database while the connection keeps writing', async () => {
    const disk = await started(create())
    fill(CHECKPOINT_PAGES * 2)
    expect(index.backlog()).toBeGreaterThan(CHECKPOINT_PAGES)
    disk.checkpoint()
    await until('an empty log', () => {
      writer.run('INSERT INTO t VALUES (1)')
      return index.backlog() < CHECKPOINT_PAGES
    })
    expect(writer.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  })

  test('lets the log restart even when writes never pause', async () => {
    const disk = await started(create())
    const size = () => Bun.file(join(directory, 'data.db-wal')).size
    for (let i = 0; i < 5; i++) fill(CHECKPOINT_PAGES * 2)
    disk.checkpoint()
    await until('an empty log', () => index.backlog() === 0)
    const full = size()
    fill(CHECKPOINT_PAGES)
    expect(size()).toBe(full)
  })
})
