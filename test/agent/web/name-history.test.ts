/** Whose line of the access log it is, when a name moves between sites. */
import { describe, expect, test } from 'bun:test'
import { createNameHistory } from '../../../src/agent/web/name-history.ts'

const DAY_MS = 24 * 60 * 60 * 1000

test('a request belongs to the site that its name led to all the time', () => {
  const names = createNameHistory()
  names.led('a.test', 7, 100, 102)
  expect(names.siteAt('a.test', 102, 150)).toBe(7)
  expect(names.siteAt('a.test', 101, 150)).toBeUndefined()
  expect(names.siteAt('b.test', 102, 150)).toBeUndefined()
})

test('a request during which its name moved belongs to no site', () => {
  const names = createNameHistory()
  names.led('a.test', 7, 100, 100)
  names.led('a.test', 8, 200, 205)
  expect(names.siteAt('a.test', 150, 200)).toBe(7)
  for (const [began, ended] of [
    [150, 201],
    [199, 300],
    [201, 204],
    [204, 300],
  ] as const) {
    expect(names.siteAt('a.test', began, ended)).toBeUndefined()
  }
  expect(names.siteAt('a.test', 205, 300)).toBe(8)
})

test('a new generation of the same site moves nothing', () => {
  const names = createNameHistory()
  names.led('a.test', 7, 100, 100)
  names.led('a.test', 7, 200, 205)
  expect(names.siteAt('a.test', 150, 300)).toBe(7)
})

test('a name that leads nowhere belongs to no site, and is forgotten after a day', () => {
  const names = createNameHistory()
  names.led('a.test', 7, 100, 100)
  names.led('a.test', undefined, 200, 205)
  expect(names.siteAt('a.test', 150, 190)).toBe(7)
  expect(names.siteAt('a.test', 210, 220)).toBeUndefined()
  names.forget(205 + DAY_MS)
  expect(names.siteAt('a.test', 150, 190)).toBe(7)
  names.forget(206 + DAY_MS)
  expect(names.siteAt('a.test', 150, 190)).toBeUndefined()
})

test('periods that ended long ago are dropped when a name moves again', () => {
  const names = createNameHistory()
  names.led('a.test', 7, 100, 100)
  names.led('a.test', 8, 200, 200)
  names.led('a.test', 9, 300 + DAY_MS, 300 + DAY_MS)
  expect(names.siteAt('a.test', 150, 160)).toBeUndefined()
  expect(names.siteAt('a.test', 250, 260)).toBe(8)
})

describe('where the times of requests may be wrong by two seconds', () => {
  const START = 10_000

  test('a request belongs to no site if another had its name about that time', () => {
    const names = createNameHistory({ startedAt: START, blurMs: 2000 })
    names.led('a.test', 7, 20_000, 20_000)
    names.led('a.test', undefined, 40_000, 40_001)
    names.led('a.test', 8, 41_000, 41_000)
    expect(names.siteAt('a.test', 20_000, 20_001)).toBe(7)
    expect(names.siteAt('a.test', 30_000, 39_000)).toBe(7)
    expect(names.siteAt('a.test', 30_000, 39_001)).toBeUndefined()
    expect(names.siteAt('a.test', 41_999, 42_000)).toBeUndefined()
    expect(names.siteAt('a.test', 42_000, 42_000)).toBe(8)
  })

  test('a name that was found leads to its site since it was made, and before that nobody knows', () => {
    const names = createNameHistory({ startedAt: START, blurMs: 2000 })
    names.found('a.test', 7, { at: 5000, now: START })
    expect(names.siteAt('a.test', 6999, 7000)).toBeUndefined()
    expect(names.siteAt('a.test', 7000, 9000)).toBe(7)
    names.led('b.test', 8, START + 1000, START + 1001)
    expect(names.siteAt('b.test', START + 1500, START + 1500)).toBeUndefined()
    expect(names.siteAt('b.test', START + 2000, START + 2000)).toBe(8)
  })

  test('what someone else has changed is certain from the change on, and nothing is of a name that has gone', () => {
    const names = createNameHistory({ startedAt: START, blurMs: 2000 })
    names.led('a.test', 7, 20_000, 20_000)
    names.found('a.test', 8, { at: 30_000, now: 50_000 })
    expect(names.siteAt('a.test', 25_000, 28_000)).toBe(7)
    expect(names.siteAt('a.test', 32_000, 33_000)).toBe(8)
    names.found('a.test', undefined, { at: undefined, now: 60_000 })
    expect(names.siteAt('a.test', 32_000, 33_000)).toBeUndefined()
    names.led('a.test', 9, 61_000, 61_000)
    expect(names.siteAt('a.test', 61_500, 61_500)).toBeUndefined()
    expect(names.siteAt('a.test', 62_000, 62_000)).toBe(9)
  })
})
