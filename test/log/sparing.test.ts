/** What fails again and again is told once a minute, with how often; what is new is told at once. */
import { expect, test } from 'bun:test'
import type { Log } from '../../src/log/log.ts'
import { sparing } from '../../src/log/sparing.ts'
import { createTestClock } from '../harness/clock.ts'

test('a repeated failure is logged once a minute, with the number left out', () => {
  const lines: [object, string][] = []
  const note = (fields: object, message: string) => lines.push([fields, message])
  const clock = createTestClock()
  const log: Log = sparing({ info: note, warn: note, error: note }, clock)
  const full = Object.assign(new Error('full'), { code: 'SQLITE_FULL' })
  const broken = Object.assign(new Error('broken'), { code: 'SQLITE_IOERR' })

  for (let count = 0; count < 5; count++) log.error({ err: full }, 'not written')
  expect(lines).toEqual([[{ err: full }, 'not written']])
  log.error({ err: new Error('query failed', { cause: broken }) }, 'not written')
  log.error({ err: full }, 'not read')
  expect(lines).toHaveLength(3)

  clock.advance(59)
  log.error({ err: full }, 'not written')
  expect(lines).toHaveLength(3)
  clock.advance(1)
  log.error({ err: full }, 'not written')
  log.error({ err: full }, 'not written')
  expect(lines.slice(3)).toEqual([[{ err: full, omitted: 5 }, 'not written']])

  clock.advance(-3600)
  log.error({ err: full }, 'not written')
  expect(lines.at(-1)).toEqual([{ err: full, omitted: 1 }, 'not written'])
  for (let count = 0; count < 3; count++) log.warn({ err: full }, 'warned')
  expect(lines).toHaveLength(8)
})
