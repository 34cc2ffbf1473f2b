/** The job queue: each job done once, tried again, given up, and kept apart by kind. */
import { afterEach, beforeEach, describe, expect, jest, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../../src/db/sqlite/store.ts'
import type { Store } from '../../src/db/store.ts'
import { jobs } from '../../src/db/tables.ts'
import {
  createQueue,
  type Job,
  type LeasedJob,
  type Queue,
  type QueueOptions,
  type Worker,
} from '../../src/jobs/queue.ts'
import { createTestClock, type TestClock } from '../harness/clock.ts'
import { newDirectory } from '../harness/directory.ts'
import { createTestLog, type TestLog } from '../harness/log.ts'

const HOUR_MS = 3_600_000
const LEASE_SECONDS = 120

let directory: string
let store: Store
let clock: TestClock
let log: TestLog
let queue: Queue
let done: string[]
/** What became of jobs that were not simply done. */
let told: unknown[]
/** What the worker does with a job, by its payload; those that are not named are done at once. */
let work: Record<string, Worker['work']>
beforeEach(() => {
  directory = newDirectory()
  clock = createTestClock()
  store = openStore(join(directory, 'ncp.db'), clock.now())
  log = createTestLog()
  done = []
  told = []
  work = {}
  queue = open()
})
afterEach(async () => {
  await queue.stop()
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

class FinalError extends Error {}

/** A second one stands for another process: what keeps them apart is in the database. */
function open(options: Partial<QueueOptions> = {}): Queue {
  const numberOf = ({ id, attempts }: LeasedJob) => `${id}, attempt ${attempts}`
  return createQueue({
    store,
    clock,
    deletableBefore: clock.now,
    kind: 'test',
    worker: {
      async work(job, cut) {
        await work[job.payload]?.(job, cut)
        done.push(job.payload)
      },
      isFinal: (error) => error instanceof FinalError,
    },
    leaseMs: LEASE_SECONDS * 1000,
    backoff: { firstDelayMs: 10_000, longestDelayMs: 40_000 },
    urgent: { lifetimeMs: 60_000, backoff: { firstDelayMs: 1000, longestDelayMs: 2000 } },
    log,
    failure: 'the queue could not be read',
    tell: {
      expired: ({ id }) => told.push(`${id} expired`),
      failed: (job, error, retryInMs) => told.push(`${numberOf(job)}: ${(error as Error).message}, ${retryInMs}`),
      refused: (job, error) => told.push(`${numberOf(job)}: ${(error as Error).message}, refused`),
    },
    ...options,
  })
}

function put(payload: string, job: Partial<Job> = {}, into = queue): Promise<void> {
  return store.write((tx) => into.put(tx, { payload, expiresAt: clock.now() + HOUR_MS, ...job }))
}

const waiting = () => store.read.$count(jobs)

/** Work that begins, and goes on until the test ends it. */
function slowWork(payload: string) {
  const begun = Promise.withResolvers<AbortSignal>()
  const end = Promise.withResolvers<void>()
  work[payload] = (_, cut) => {
    begun.resolve(cut)
    return end.promise
  }
  return { begun: begun.promise, end }
}

describe('a job', () => {
  test('is done once, and then it is gone', async () => {
    await put('a')
    await queue.runDue()
    await queue.runDue()
    expect([done, await waiting(), told]).toEqual([['a'], 0, []])
  })

  test('of a change that is rolled back is not there', async () => {
    const change = store.write(async (tx) => {
      await queue.put(tx, { payload: 'a', expiresAt: clock.now() + HOUR_MS })
      throw new Error('the change fails')
    })
    await expect(change).rejects.toThrow('the change fails')
    await queue.runDue()
    expect(done).toEqual([])
  })

  test('is done once by two workers at the same time', async () => {
    const other = open()
    const payloads = Array.from({ length: 20 }, (_, index) => `${index}`)
    for (const payload of payloads) await put(payload)
    await Promise.all([queue.runDue(), other.runDue(), queue.runDue(), other.runDue()])
    expect(done.sort()).toEqual(payloads.sort())
  })

  test('added during a pass is done in the next one, which the caller waits for', async () => {
    const { begun, end } = slowWork('slow')
    await put('slow')
    const first = queue.runDue()
    await begun
    await put('a')
    const second = queue.runDue()
    end.resolve()
    await second
    expect(done).toEqual(['slow', 'a'])
    await first
  })

  test('of a dead process is done by the next once the lease is over, and not before', async () => {
    const { begun, end } = slowWork('a')
    await put('a')
    const dying = queue.runDue()
    await begun
    work = {}
    const next = open()
    clock.advance(LEASE_SECONDS - 1)
    await next.runDue()
    expect(done).toEqual([])
    clock.advance(1)
    await next.runDue()
    expect(done).toEqual(['a'])
    end.resolve()
    await dying
    expect(await waiting()).toBe(0)
  })

  test('is ignored by a queue of another kind', async () => {
    const other = open({ kind: 'other' })
    await put('a', { topic: 'one' })
    await put('b', { topic: 'one', expiresAt: clock.now() + 1000 }, other)
    await store.write((tx) => other.withdraw(tx, 'two'))
    await other.runDue()
    expect([done, await queue.countWaiting(), await other.countWaiting()]).toEqual([['b'], 1, 0])
    await queue.runDue()
    expect(done).toEqual(['b', 'a'])
  })

  test('replaces an older one of its topic, which does not remove it when done', async () => {
    const { begun, end } = slowWork('older')
    await put('older', { topic: 'one' })
    const first = queue.runDue()
    await begun
    await put('newer', { topic: 'one' })
    end.resolve()
    await first
    await queue.runDue()
    expect(done).toEqual(['older', 'newer'])
  })

  test('that is withdrawn is not done', async () => {
    await put('a', { topic: 'one' })
    await put('b', { topic: 'two' })
    await store.write((tx) => queue.withdraw(tx, 'one'))
    await queue.runDue()
    expect(done).toEqual(['b'])
  })

  test('that expires first is among the first five', async () => {
    for (let index = 0; index < 5; index++) await put(`patient ${index}`)
    await put('urgent', { expiresAt: clock.now() + HOUR_MS - 1 })
    await queue.runDue()
    expect(done.slice(0, 5)).toContain('urgent')
  })
})

describe('a job that fails', () => {
  const fail = async () => {
    throw new Error('no')
  }

  test('is retried after a delay that doubles up to the longest', async () => {
    work.a = fail
    await put('a')
    for (const seconds of [10, 20, 40, 40]) {
      await queue.runDue()
      const attempts = told.length
      clock.advance(seconds - 1)
      await queue.runDue()
      expect(told).toHaveLength(attempts)
      clock.advance(1)
    }
    work = {}
    await queue.runDue()
    expect(told).toEqual([
      '1, attempt 1: no, 10000',
      '1, attempt 2: no, 20000',
      '1, attempt 3: no, 40000',
      '1, attempt 4: no, 40000',
    ])
    expect(done).toEqual(['a'])
  })

  test('is retried sooner when it has little time', async () => {
    work.a = fail
    await put('a', { expiresAt: clock.now() + 60_000 })
    for (const seconds of [1, 2, 2]) {
      await queue.runDue()
      clock.advance(seconds)
    }
    expect(told).toEqual(['1, attempt 1: no, 1000', '1, attempt 2: no, 2000', '1, attempt 3: no, 2000'])
  })

  test('permanently is not retried', async () => {
    work.a = async () => {
      throw new FinalError('never')
    }
    await put('a')
    await queue.runDue()
    expect([told, await waiting()]).toEqual([['1, attempt 1: never, refused'], 0])
  })

  test('delays none of the others', async () => {
    work.a = fail
    await put('a')
    await put('b')
    await queue.runDue()
    expect(done).toEqual(['b'])
  })

  test('is given up once it has expired', async () => {
    work.a = fail
    await put('a', { expiresAt: clock.now() + 5000 })
    await queue.runDue()
    clock.advance(5)
    await queue.runDue()
    expect([told.at(-1), await waiting()]).toEqual(['1 expired', 0])
  })

  test('is reported to monitoring, by the oldest, until it is done or expires', async () => {
    expect(await queue.waitingSince()).toBeUndefined()
    work.a = fail
    const since = clock.now()
    await put('a', { expiresAt: since + 30_000 })
    expect(await queue.waitingSince()).toBeUndefined()
    await queue.runDue()
    clock.advance(1)
    work.b = fail
    await put('b')
    await queue.runDue()
    expect(await queue.waitingSince()).toBe(since)
    expect(await open({ kind: 'other' }).waitingSince()).toBeUndefined()
    clock.advance(29)
    expect(await queue.waitingSince()).toBe(since + 1000)
  })
})

describe('a wrong clock', () => {
  test('delays no job that was added while it was ahead', async () => {
    clock.jump(86_400)
    await put('a', { expiresAt: clock.now() + HOUR_MS })
    clock.jump(-86_400)
    await queue.runDue()
    expect(done).toEqual(['a'])
  })

  test('costs no job while it cannot be trusted', async () => {
    const careful = open({ deletableBefore: () => Number.MIN_SAFE_INTEGER })
    await put('a')
    clock.jump(86_400)
    await careful.runDue()
    expect([done, told, await waiting()]).toEqual([[], [], 1])
    clock.jump(-86_400)
    await careful.runDue()
    expect(done).toEqual(['a'])
  })
})

describe('a queue', () => {
  test('without a worker keeps its jobs for another process, until they expire', async () => {
    const command = open({ worker: undefined })
    await put('a', { expiresAt: clock.now() + 1000 }, command)
    await put('b', {}, command)
    await command.runDue()
    expect(await waiting()).toBe(2)
    clock.advance(1)
    await command.runDue()
    expect([told, await waiting()]).toEqual([['1 expired'], 1])
    await queue.runDue()
    expect(done).toEqual(['b'])
  })

  test('that cannot be written to says so, and continues when it can be', async () => {
    const failing = { ...store, write: () => Promise.reject(new Error('the disk is full')) }
    const stuck = open({ store: failing })
    await put('a')
    await stuck.runDue()
    expect(log.lines).toEqual([{ err: new Error('the disk is full'), msg: 'the queue could not be read' }])
    await queue.runDue()
    expect(done).toEqual(['a'])
  })

  test('looks for jobs every two seconds once it is started', async () => {
    jest.useFakeTimers()
    const ran = Promise.withResolvers<void>()
    work.a = async () => ran.resolve()
    queue.start()
    await put('a')
    jest.advanceTimersByTime(1999)
    expect(await waiting()).toBe(1)
    jest.advanceTimersByTime(1)
    jest.useRealTimers()
    await ran.promise
    await queue.stop()
    expect(done).toEqual(['a'])
  })

  test('stops once the current work is over', async () => {
    const { begun, end } = slowWork('a')
    await put('a')
    const running = queue.runDue()
    expect((await begun).aborted).toBe(false)
    const stopped = queue.stop()
    end.resolve()
    await Promise.all([stopped, running])
    expect([done, await waiting()]).toEqual([['a'], 0])
  })

  test('cuts off work that takes more than two seconds to stop, which is done at once after the next start', async () => {
    await put('a')
    const begun = Promise.withResolvers<AbortSignal>()
    work.a = (_, cut) => {
      begun.resolve(cut)
      return new Promise((_, reject) => cut.addEventListener('abort', () => reject(new Error('cut off'))))
    }
    const running = queue.runDue()
    const cut = await begun.promise
    jest.useFakeTimers()
    const stopped = queue.stop()
    jest.advanceTimersByTime(1999)
    const wasCut = cut.aborted
    jest.advanceTimersByTime(1)
    jest.useRealTimers()
    expect([wasCut, cut.aborted]).toEqual([false, true])
    await Promise.all([stopped, running])
    expect([done, told]).toEqual([[], ['1, attempt 1: cut off, 0']])
    work = {}
    queue = open()
    await queue.runDue()
    expect(done).toEqual(['a'])
  })
})
