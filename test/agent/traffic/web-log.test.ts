/** Reads of the web server's log what is not too much. */
import { expect, test } from 'bun:test'
import { appendFileSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createWebLog } from '../../../src/agent/traffic/web-log.ts'
import { createTestClock } from '../../harness/clock.ts'
import { newDirectory } from '../../harness/directory.ts'

function open(maxBacklogBytes?: number) {
  const path = join(newDirectory('ncp-web-log-'), 'access.log')
  const skipped: number[] = []
  const log = createWebLog({
    path,
    places: [],
    reopen: () => true,
    onSkipped: (bytes) => skipped.push(bytes),
    clock: createTestClock(),
    ...(maxBacklogBytes !== undefined && { maxBacklogBytes }),
  })
  const read = () => {
    const chunk = log.next()
    if (chunk) chunk.place.offset = chunk.end
    return chunk?.text
  }
  return { path, log, read, skipped }
}

test('lines are given again until their place is moved', () => {
  const { path, log, read } = open()
  appendFileSync(path, 'one\ntwo\nthr')
  expect([log.next()?.text, log.next()?.text, read(), read()]).toEqual([
    'one\ntwo\n',
    'one\ntwo\n',
    'one\ntwo\n',
    undefined,
  ])
  appendFileSync(path, 'ee\n')
  expect([read(), read()]).toEqual(['three\n', undefined])
})

test('where too much waits, the newest lines are read, and the rest is said to be lost', () => {
  const { path, read, skipped } = open(10)
  appendFileSync(path, 'first\nsecond\nthird\n')
  expect(read()).toBe('ond\nthird\n')
  expect(skipped).toEqual([9])
  appendFileSync(path, 'fourth\n')
  expect(read()).toBe('fourth\n')
  expect(skipped).toHaveLength(1)
})

test('a link or a directory in its place is not read', () => {
  const { path, read } = open()
  symlinkSync('/etc/passwd', path)
  mkdirSync(`${path}.1`)
  expect(read()).toBeUndefined()
})
