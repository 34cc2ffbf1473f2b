/** The log: what a line says, what it never says, and when it is written. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DrizzleQueryError } from 'drizzle-orm'
import type { ServedRequest } from '../../src/core/served-request.ts'
import { createLog, type LogLevel } from '../../src/log/log.ts'
import { openLogSink } from '../../src/log/sink.ts'
import { createTestClock } from '../harness/clock.ts'
import { newDirectory } from '../harness/directory.ts'
import { until } from '../harness/until.ts'

const START = Date.UTC(2026, 10, 30, 12, 34, 56, 789)
const served: ServedRequest = {
  requestId: '0192-a',
  method: 'GET',
  route: '/api/v1/sites/:id',
  status: 200,
  durationMs: 1.234,
  userId: 7,
  credential: 'api_key',
  nodeId: undefined,
  rejected: undefined,
  client: '2001:db8::1',
}

let directory: string
let path: string
beforeEach(() => {
  directory = newDirectory()
  path = join(directory, 'ncp.log')
})
afterEach(() => rmSync(directory, { recursive: true }))

function open(level: LogLevel = 'info', format: 'json' | 'text' = 'json') {
  const sink = openLogSink(path)
  return { log: createLog({ level, format, clock: createTestClock(START), sink }), sink }
}
const written = () => readFileSync(path, 'utf8')
const lines = () =>
  written()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

describe('a line', () => {
  test('names the node that sent a request, and no node for any other', () => {
    const { log, sink } = open()
    log.request({ ...served, userId: null, credential: 'node', nodeId: 3 }, 'info')
    log.request(served, 'info')
    sink.flush()
    expect(lines().map(({ credential, nodeId }) => [credential, nodeId])).toEqual([
      ['node', 3],
      ['api_key', undefined],
    ])
  })

  test('is one JSON object with time, level, message and fields', () => {
    open().log.warn({ mail: 3, attempt: 2 }, 'email not sent; it will be tried again')
    expect(lines()).toEqual([
      {
        time: '2026-11-30T12:34:56.789Z',
        level: 'warn',
        msg: 'email not sent; it will be tried again',
        mail: 3,
        attempt: 2,
      },
    ])
  })

  test('of a request has the route, the caller and the outcome', () => {
    const { log, sink } = open()
    log.request(served, 'info')
    sink.flush()
    expect(lines()).toEqual([
      { time: '2026-11-30T12:34:56.789Z', level: 'info', msg: 'request', ...served, rejected: undefined },
    ])
    log.request({ ...served, rejected: 'expired' }, 'info')
    sink.flush()
    expect(lines()[1]).toMatchObject({ client: served.client, rejected: 'expired' })
  })

  test('stays one line whatever its fields contain', () => {
    open().log.error({ err: new Error('first\nsecond\u2028third') }, 'failed')
    expect(written().trimEnd()).not.toContain('\n')
    expect(lines()[0].err).toMatchObject({ type: 'Error', message: 'first\nsecond\u2028third' })
  })

  test('of a failed query has its statement and its cause, but not its values', () => {
    const cause = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
    open().log.error(
      { err: new DrizzleQueryError('update users set password_hash = ?', ['s3cret\n    at x'], cause) },
      'x',
    )
    expect(written()).not.toContain('s3cret')
    expect(lines()[0].err).toMatchObject({
      message: 'Failed query: update users set password_hash = ?',
      stack: expect.stringContaining('log.test.ts'),
      cause: { message: 'database or disk is full', code: 'SQLITE_FULL' },
    })
  })

  test('for people has the time of day, the level and no control character from its fields', () => {
    const { log, sink } = open('info', 'text')
    log.request(served, 'info')
    log.error({ reason: 'evil\x1b[2Jtext\u009b', err: new Error('gone') }, 'failed')
    sink.flush()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
    const text = written().replaceAll(/\x1b\[(2|3\d|0)m/g, '')
    expect(text).toStartWith(
      '12:34:56.789 INFO  request requestId=0192-a method=GET route=/api/v1/sites/:id status=200',
    )
    expect(text).toContain('ERROR failed reason=evil\\u001b[2Jtext\\u009b\n  Error: gone\n')
  })
})

test('the level applies, even when changed at run time', () => {
  const { log, sink } = open('warn')
  log.info({}, 'no')
  log.request(served, 'info')
  log.warn({}, 'yes')
  log.setLevel('debug')
  log.request(served, 'debug')
  log.setLevel('silent')
  log.error({}, 'no')
  sink.flush()
  expect(lines().map(({ msg }) => msg)).toEqual(['yes', 'request'])
})

describe('requests', () => {
  test('wait for a batch, and precede anything written at once', () => {
    const { log } = open()
    log.request(served, 'info')
    expect(written()).toBe('')
    log.error({}, 'failed')
    expect(lines().map(({ msg }) => msg)).toEqual(['request', 'failed'])
  })

  test('are written when the batch is large', () => {
    const { log } = open()
    for (let count = 0; count < 1000; count++) log.request(served, 'info')
    expect(lines().length).toBeGreaterThan(500)
    expect(lines().length).toBeLessThanOrEqual(1000)
  })

  test('are written by a timer when there is only one', async () => {
    open().log.request(served, 'info')
    await until('the line', () => written() !== '')
    expect(lines()).toHaveLength(1)
  })
})

test('a file is readable only by its owner, is appended to, and is reopened after rotation', () => {
  open().log.info({}, 'first')
  const { log, sink } = open()
  expect(statSync(path).mode & 0o777).toBe(0o600)
  log.info({}, 'second')
  renameSync(path, `${path}.1`)
  log.request(served, 'info')
  sink.reopen()
  log.info({}, 'third')
  expect(lines().map(({ msg }) => msg)).toEqual(['third'])
  expect(readFileSync(`${path}.1`, 'utf8').match(/"msg":"\w+"/g)).toEqual([
    '"msg":"first"',
    '"msg":"second"',
    '"msg":"request"',
  ])
})

test('a full disk costs log lines and nothing else, and the log says so afterwards', () => {
  // The device that is always full.
  symlinkSync('/dev/full', path)
  const { log, sink } = open()
  log.error({}, 'first')
  for (let count = 0; count < 10_000; count++) log.request(served, 'info')
  log.error({}, 'last')
  rmSync(path)
  sink.reopen()
  log.error({}, 'room again')
  sink.flush()
  const messages = lines().map(({ msg }) => msg)
  expect(messages).toContain('room again')
  expect(messages).toContain('log lines were lost: nothing could be written for a while')
  expect(messages.length).toBeLessThan(10_000)
})
