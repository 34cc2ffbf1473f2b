/** When a backup is due: by the settings, by what there is, and after one that failed. */
import { beforeEach, expect, test } from 'bun:test'
import { type BackupSchedule, type BackupSettings, createBackupSchedule } from '../../src/backup/schedule.ts'
import { createTestClock, type TestClock } from '../harness/clock.ts'
import { createTestLog, type TestLog } from '../harness/log.ts'

const HOUR = 3600

let clock: TestClock
let log: TestLog
let made: number[]
let kept: number[]
let failure: Error | undefined
let settings: BackupSettings
let schedule: BackupSchedule
beforeEach(() => {
  clock = createTestClock()
  log = createTestLog()
  made = []
  kept = []
  failure = undefined
  settings = { backupIntervalHours: 24, backupKeep: 7 }
  schedule = createBackupSchedule({
    clock,
    log,
    readSettings: async () => settings,
    madeAt: () => made,
    async make(keep) {
      if (failure) throw failure
      made.push(clock.now())
      kept.push(keep)
      return { name: 'ncp-x', bytes: 1 }
    },
  })
})

test('the first is due at once, the next after the interval', async () => {
  await schedule.look()
  await schedule.look()
  expect(kept).toEqual([7])
  clock.advance(24 * HOUR - 1)
  await schedule.look()
  expect(made).toHaveLength(1)
  clock.advance(1)
  await schedule.look()
  expect(made).toHaveLength(2)
  expect(schedule.newestAt()).toBe(clock.now())
})

test('none is due with an interval of 0', async () => {
  settings.backupIntervalHours = 0
  await schedule.look()
  expect(made).toEqual([])
  expect(schedule.newestAt()).toBeUndefined()
})

test('a failed one is reported and retried in an hour', async () => {
  failure = new Error('no room')
  await schedule.look()
  await schedule.look()
  expect(log.lines.map(({ msg }) => msg)).toEqual(['backup failed; it will be tried again in an hour'])
  failure = undefined
  clock.advance(HOUR)
  await schedule.look()
  expect(made).toHaveLength(1)
})

test('one made while the clock was ahead neither delays the next nor makes it due forever', async () => {
  clock.advance(30 * 24 * HOUR)
  await schedule.look()
  clock.advance(-30 * 24 * HOUR)
  await schedule.look()
  await schedule.look()
  expect(made).toHaveLength(2)
})

test('two checks at once make one', async () => {
  await Promise.all([schedule.look(), schedule.look()])
  expect(made).toHaveLength(1)
})
