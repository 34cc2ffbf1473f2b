/** Periodic work: when it runs, what a failure does, and how it stops. */
import { afterEach, beforeEach, expect, jest, test } from 'bun:test'
import { startTasks, type Task } from '../../src/jobs/task.ts'
import { createTestLog, type TestLog } from '../harness/log.ts'

let log: TestLog
let stop: () => Promise<void>
beforeEach(() => {
  jest.useFakeTimers()
  log = createTestLog()
})
afterEach(async () => {
  jest.useRealTimers()
  await stop()
})

function start(run: Task['run'], everyMs = 1000): void {
  stop = startTasks([{ everyMs, run, log, failure: 'it failed' }])
}

/** Lets what a run that has ended leads to happen: a few promises. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

test('runs once per interval, and not before the first is over', async () => {
  let runs = 0
  start(async () => runs++)
  jest.advanceTimersByTime(999)
  expect(runs).toBe(0)
  for (const expected of [1, 2, 3]) {
    jest.advanceTimersByTime(1000)
    await settle()
    expect(runs).toBe(expected)
  }
})

test('logs a failure in its own words, and runs again the next time', async () => {
  const failures = [new Error('one'), new Error('two')]
  start(async () => {
    throw failures[log.lines.length]
  })
  for (let turn = 0; turn < 2; turn++) {
    jest.advanceTimersByTime(1000)
    await settle()
  }
  expect(log.lines).toEqual(failures.map((err) => ({ err, msg: 'it failed' })))
})

test('never overlaps itself: runs that would start during a long one are skipped', async () => {
  const runs: ReturnType<typeof Promise.withResolvers<void>>[] = []
  start(() => {
    const run = Promise.withResolvers<void>()
    runs.push(run)
    return run.promise
  })
  for (let turn = 0; turn < 5; turn++) {
    jest.advanceTimersByTime(1000)
    await settle()
  }
  expect(runs).toHaveLength(1)
  runs[0]?.resolve()
  await settle()
  expect(runs).toHaveLength(1)
  jest.advanceTimersByTime(1000)
  expect(runs).toHaveLength(2)
  runs[1]?.resolve()
})

test('logs a failure once, however many intervals passed during the run', async () => {
  const run = Promise.withResolvers<void>()
  start(() => run.promise)
  for (let turn = 0; turn < 5; turn++) {
    jest.advanceTimersByTime(1000)
    await settle()
  }
  run.reject(new Error('the disk is slow, and then full'))
  await settle()
  expect(log.lines).toHaveLength(1)
})

test('stops once the current run is over, which is aborted, and begins none after it', async () => {
  const run = Promise.withResolvers<void>()
  let runs = 0
  let signal: AbortSignal | undefined
  start((stopping) => {
    runs++
    signal = stopping
    return run.promise
  })
  jest.advanceTimersByTime(1000)
  expect(signal?.aborted).toBe(false)
  let isStopped = false
  const stopped = stop().then(() => {
    isStopped = true
  })
  expect(signal?.aborted).toBe(true)
  await settle()
  expect(isStopped).toBe(false)
  run.resolve()
  await stopped
  jest.advanceTimersByTime(5000)
  expect(runs).toBe(1)
})

test('stops after a failing run, which is logged like any other', async () => {
  const run = Promise.withResolvers<void>()
  start(() => run.promise)
  jest.advanceTimersByTime(1000)
  const stopped = stop()
  run.reject(new Error('the store is gone'))
  await stopped
  expect(log.lines).toHaveLength(1)
})
