/** What a parent gets from its child, whatever that does. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpack } from '../../../src/unpack/run.ts'
import { type Installation, install } from '../../harness/binary.ts'
import { tar } from '../../harness/tar.ts'
import { until } from '../../harness/until.ts'

const limits = { maxBytes: 1e6, maxFiles: 100, maxSeconds: 60 }

let binary: Installation
beforeAll(async () => {
  binary = await install()
})
afterAll(() => binary.remove())

let home: string
let release: string
let archive: number
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'ncp-run-'))
  release = join(home, 'release')
  mkdirSync(release)
  use(tar({ name: 'public/index.html', body: 'hello' }))
})
afterEach(() => {
  closeSync(archive)
  rmSync(home, { recursive: true, force: true })
})

function use(bytes: Uint8Array): void {
  writeFileSync(join(home, 'archive'), bytes)
  archive = openSync(join(home, 'archive'), 'r')
}

const unpackBy = (script: string, more: { maxSeconds?: number; signal?: AbortSignal } = {}) => {
  const { maxSeconds = 60, signal } = more
  const program = ['/bin/sh', '-c', script, 'sh'] as const
  return unpack({
    archive,
    release,
    limits: { ...limits, maxSeconds },
    links: 'refuse',
    program,
    ...(signal && { signal }),
  })
}

test('from source, the same program is the child', async () => {
  expect(await unpack({ archive, release, limits, links: 'refuse' })).toEqual({
    ok: true,
    files: 1,
    bytes: 5,
    publicDir: 'public',
  })
  expect(readFileSync(join(release, 'public/index.html'), 'utf8')).toBe('hello')
})

test('a refusal arrives as it was said', async () => {
  closeSync(archive)
  use(tar({ name: '../up' }))
  const program = [binary.path('ncp')] as const
  expect(await unpack({ archive, release, limits, links: 'refuse', program })).toEqual({
    ok: false,
    code: 'name_invalid',
    entry: '../up',
    line: 1,
    message: 'entry 1, ../up: the name has ".." in it, which would lead outside the archive',
  })
})

test('the child has the archive, the release and nothing else', async () => {
  const secret = openSync(join(home, 'archive'), 'r')
  await unpackBy('ls /proc/self/fd > fds; env > environment; pwd > directory; cat > archive')
  closeSync(secret)
  // The shell's own descriptor is that of `ls`, which reads the folder.
  expect(readFileSync(join(release, 'fds'), 'utf8')).toBe('0\n1\n2\n3\n')
  expect(
    readFileSync(join(release, 'environment'), 'utf8')
      .split('\n')
      .filter((line) => !/^(PWD|_|OLDPWD|SHLVL)=|^$/.test(line)),
  ).toEqual([])
  expect(readFileSync(join(release, 'directory'), 'utf8')).toBe(`${release}\n`)
  expect(readFileSync(join(release, 'archive'))).toEqual(readFileSync(join(home, 'archive')))
})

const good = '{"ok":true,"files":1,"bytes":5,"publicDir":""}'
const failed = { ok: false, code: 'unpack_failed', entry: null, line: null }

test.each([
  ['prints nothing', 'exit 0'],
  ['fails without a word', 'exit 7'],
  ['kills itself', 'kill -9 $$'],
  ['prints what is not JSON', 'echo hello'],
  ['prints half a line', `printf '%s' '${good.slice(0, 20)}'`],
  ['prints two lines', `echo '${good}'; echo '${good}'`],
  ['says that it is done, and fails', `echo '${good}'; exit 1`],
  [
    'says that it failed, and ends well',
    `echo '{"ok":false,"code":"archive_empty","entry":null,"line":null,"message":"x"}'`,
  ],
  ['leaves something out', 'echo \'{"ok":true,"files":1}\''],
  ['adds something', 'echo \'{"ok":true,"files":1,"bytes":5,"publicDir":"","more":1}\''],
  ['names another public folder', 'echo \'{"ok":true,"files":1,"bytes":5,"publicDir":"../.."}\''],
  ['counts less than nothing', 'echo \'{"ok":true,"files":-1,"bytes":5,"publicDir":""}\''],
  ['counts more bytes than it may', 'echo \'{"ok":true,"files":1,"bytes":1000001,"publicDir":""}\''],
  ['counts more files than it may', 'echo \'{"ok":true,"files":101,"bytes":5,"publicDir":""}\''],
  ['invents a code', 'echo \'{"ok":false,"code":"x","entry":null,"line":null,"message":"x"}\'; exit 1'],
  ['talks without end', 'yes hello'],
  ['writes errors without end, and then fails', 'yes hello | head -c 3000000 >&2; exit 1'],
])('a child that %s has not unpacked', async (_, script) => {
  expect(await unpackBy(script)).toMatchObject(failed)
})

test('the start of what a child says is kept for the log, and is safe to show', async () => {
  const result = await unpackBy(`printf 'cannot \\033[2J do it\\n' >&2; yes more | head -c 100000 >&2; exit 3`)
  if (result.ok) throw new Error('it was unpacked')
  expect(result.detail).toStartWith('exit code 3: cannot \\u001b[2J do it\nmore\n')
  expect(result.detail?.length).toBeLessThan(5000)
  expect(result.message).not.toContain('cannot')
})

test('what a child says in its message is safe to show', async () => {
  const result = await unpackBy(
    `printf '%s' '{"ok":false,"code":"name_invalid","entry":"\\u001b[2J","line":1,"message":"\\u001b[2J"}'; exit 1`,
  )
  expect(result).toMatchObject({ ok: false, entry: '\\u001b[2J', message: '\\u001b[2J' })
})

test('a child that does not end is killed', async () => {
  expect(await unpackBy('trap "" TERM; exec sleep 1000', { maxSeconds: 1 })).toMatchObject({
    ok: false,
    code: 'too_slow',
  })
})

test('unpacking can be cancelled', async () => {
  const stop = new AbortController()
  const unpacking = unpackBy('touch begun; exec sleep 1000', { signal: stop.signal })
  await until('the child', () => readdirSync(release).includes('begun'))
  stop.abort()
  expect(await unpacking).toMatchObject({ ok: false, code: 'aborted' })
  expect(await unpackBy('exit 0', { signal: stop.signal })).toMatchObject({ ok: false, code: 'aborted' })
})
