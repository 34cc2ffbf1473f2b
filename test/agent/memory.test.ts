/** What the agent remembers of its panel: another panel, and one that has lost much, are not followed unasked. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acceptHeld, createMemory, memoryPaths } from '../../src/agent/memory.ts'

const answer = { installationId: 'one', epoch: 'first', served: 0, absent: 0 }
const directories: string[] = []
let layout: { agent: string }

beforeEach(() => {
  layout = { agent: mkdtempSync(join(tmpdir(), 'ncp-memory-')) }
  directories.push(layout.agent)
})
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true })
})

test('a node that serves nothing follows the first panel that it meets, and that one after a restart', async () => {
  expect(await createMemory(layout).check(answer)).toBeUndefined()
  expect(await createMemory(layout).check({ ...answer, served: 5 })).toBeUndefined()
})

describe('a panel is not followed', () => {
  test.each([
    ['of another installation', { installationId: 'two' }, 'new_epoch'],
    ['of another epoch', { epoch: 'second' }, 'new_epoch'],
    ['that no longer names many sites', { served: 100, absent: 11 }, 'too_many_absent'],
  ])('%s, until that is accepted, and then only so far', async (_, change, code) => {
    expect(await createMemory(layout).check(answer)).toBeUndefined()
    const memory = createMemory(layout)
    const changed = { ...answer, served: 20, ...change }
    expect(await memory.check(changed)).toMatchObject({ code })
    expect(acceptHeld(layout)).toMatchObject({ code })
    await memory.accepted(new AbortController().signal)
    expect(await memory.check({ ...changed, epoch: 'third' })).toMatchObject({ code: 'new_epoch' })
    expect(await memory.check({ ...changed, served: 100, absent: 50 })).toBeDefined()
    acceptHeld(layout)
    expect(await memory.check({ ...changed, served: 100, absent: 50 })).toBeUndefined()
    expect(readdirSync(layout.agent)).toEqual(['memory.json'])
    expect(await createMemory(layout).check({ ...changed, absent: 0 })).toBeUndefined()
  })

  test('by a node that serves sites and has lost its memory', async () => {
    expect(await createMemory(layout).check({ ...answer, served: 1 })).toMatchObject({ code: 'new_epoch' })
  })

  test('by one whose memory cannot be read', () => {
    writeFileSync(memoryPaths(layout).memory, '{')
    expect(() => createMemory(layout)).toThrow()
  })
})

test('there is nothing to accept where nothing is held', () => {
  expect(acceptHeld(layout)).toBeUndefined()
})

test('the highest subscription is remembered, whatever else it is told', async () => {
  const memory = createMemory(layout)
  await memory.check(answer)
  await memory.remember([3, 12, 5])
  await memory.remember([4, Number.NaN, 1.5, 'x' as never])
  expect(memory.highestSubscriptionId()).toBe(12)
  expect(createMemory(layout).highestSubscriptionId()).toBe(12)
})
