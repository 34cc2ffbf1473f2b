/** `bun run dev`: the demo panel follows the source, also past a mistake in it. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkOut } from '../harness/checkout.ts'
import { stopped } from '../harness/program.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(600_000)

const folder = mkdtempSync(join(tmpdir(), 'ncp-dev-'))
const checkout = checkOut(join(folder, 'ncp'))
const out = Bun.file(join(folder, 'out'))
const child = Bun.spawn([process.execPath, 'run', 'dev', '--port', '0'], {
  cwd: checkout.directory,
  env: { PATH: process.env.PATH ?? '', NCP_CONFIG: '/dev/null' },
  stdout: out,
  stderr: out,
})
afterAll(async () => {
  // The watcher is a child of `bun run`, which passes the signal on.
  await stopped(child, 'the watcher')
  rmSync(folder, { recursive: true, force: true })
})

const printed = () => readFileSync(join(folder, 'out'), 'utf8')
const origins = () => [...printed().matchAll(/^ncp listens on (\S+),/gm)].map(([, origin = '']) => origin)

/** The `error` of a 404 from the panel that was started last. */
async function notFound(): Promise<string> {
  const response = await fetch(`${origins().at(-1)}/api/v1/nothing-here`, { tls: { rejectUnauthorized: false } })
  return ((await response.json()) as { error: string }).error
}

test('a change restarts the panel, and a syntax error waits to be fixed', async () => {
  await until('the first start', () => origins().length === 1)
  expect(await notFound()).toBe('not found')

  checkout.replace('src/core/errors.ts', "'not found'", "'lost'")
  await until('the second start', () => origins().length === 2)
  expect(await notFound()).toBe('lost')

  checkout.replace('src/core/errors.ts', "'lost'", "'lost' +")
  await until('the syntax error', () => printed().includes('error: Unexpected ,'))
  checkout.replace('src/core/errors.ts', "'lost' +", "'found'")
  await until('the third start', () => origins().length === 3)
  expect(await notFound()).toBe('found')
})
