/** What is remembered for one version of the store, and not a moment longer. */
import { beforeEach, expect, test } from 'bun:test'
import { createVersionCache, type VersionCache } from '../../src/db/version-cache.ts'

let version: number
let loads: string[]
let cache: VersionCache<string>
beforeEach(() => {
  version = 1
  loads = []
  cache = createVersionCache(2)
})

const get = (key: string, value: string | undefined = `${key}${version}`) =>
  cache.get(version, key, async () => {
    loads.push(key)
    return value
  })

test('is loaded once per version', async () => {
  expect([await get('a'), await get('a')]).toEqual(['a1', 'a1'])
  version = 2
  expect([await get('a'), await get('a')]).toEqual(['a2', 'a2'])
  expect(loads).toEqual(['a', 'a'])
})

test('never comes from a load that began in an older version', async () => {
  const slow = cache.get(version, 'a', async () => {
    await Promise.resolve()
    return 'old'
  })
  version = 2
  expect(await get('b')).toBe('b2')
  expect(await slow).toBe('old')
  expect(await get('a')).toBe('a2')
})

test('is loaded again for a request that was overtaken, and kept from later ones', async () => {
  const older = version
  version = 2
  expect(await get('a')).toBe('a2')
  expect(await cache.get(older, 'a', async () => 'newer')).toBe('newer')
  expect(await get('a')).toBe('a2')
  expect(loads).toEqual(['a', 'a'])
})

test('never holds a missing or failed result', async () => {
  const nothing = () => cache.get(version, 'a', async () => void loads.push('a') as undefined)
  await nothing()
  await nothing()
  expect(loads).toEqual(['a', 'a'])
  await expect(cache.get(version, 'b', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await get('b')).toBe('b1')
})

test('stays within its limit', async () => {
  for (const key of ['a', 'b', 'c', 'c', 'a']) await get(key)
  expect(loads).toEqual(['a', 'b', 'c', 'a'])
})
