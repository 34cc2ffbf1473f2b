/** Whose line of the access log it is, when a name moves between sites. */
import { expect, test } from 'bun:test'
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
