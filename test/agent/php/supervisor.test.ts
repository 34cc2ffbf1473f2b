/** The command that puts a master into its slice. systemd itself does not run where the tests do. */
import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createScopes, findSupervisor } from '../../../src/agent/php/supervisor.ts'
import { DEFAULT_PHP_LIMITS } from '../../../src/node/php.ts'
import { newDirectory } from '../../harness/directory.ts'
import { createTestLog } from '../../harness/log.ts'

const spec = { subscriptionId: 12, version: '8.2', limits: DEFAULT_PHP_LIMITS, pools: [] }

test('without systemd, nothing is put before the command', async () => {
  const log = createTestLog()
  expect((await findSupervisor(log, false))(spec)).toEqual([])
  expect(log.lines).toEqual([])
})

test.skipIf(existsSync('/run/systemd/system'))(
  'where systemd makes no scope, PHP runs without, and the log says why',
  async () => {
    const log = createTestLog()
    expect((await findSupervisor(log, true))(spec)).toEqual([])
    expect(log.text()).toContain('systemd makes no scopes for PHP')
  },
)

test('each master is a unit of its own, in the slice of its subscription', () => {
  const supervisorOf = createScopes()
  const [first, second] = [supervisorOf(spec), supervisorOf(spec)]
  const unitOf = (command: readonly string[]) => command.find((part) => part.startsWith('--unit='))
  expect(unitOf(first)).toMatch(/^--unit=ncp-php-s12-8\.2-\d+-1$/)
  expect(unitOf(second)).not.toBe(unitOf(first) as string)
  expect(first).toContain('--slice=ncp-s12.slice')
  expect(first.at(-1)).toBe('--')
})

test.skipIf(!Bun.which('systemd-run'))('systemd-run knows every option', () => {
  const [program = '', ...options] = createScopes()(spec)
  const { stdout, exitCode } = Bun.spawnSync([program, ...options.slice(0, -1), '--help'])
  expect(exitCode).toBe(0)
  expect(stdout.toString()).toContain('--scope')
})

test.skipIf(!Bun.which('systemd-analyze'))('systemd knows every property, in a unit that has them', () => {
  const directory = newDirectory()
  mkdirSync(directory, { recursive: true })
  const properties = createScopes()(spec).flatMap((part) => /^--property=(.*)$/.exec(part)?.[1] ?? [])
  const unit = join(directory, 'ncp-s12.slice')
  writeFileSync(unit, `[Unit]\nDescription=test\n[Slice]\n${properties.join('\n')}\n`)
  const { stderr, exitCode } = Bun.spawnSync(['systemd-analyze', 'verify', '--man=no', unit])
  expect([exitCode, stderr.toString()]).toEqual([0, ''])
  rmSync(directory, { recursive: true })
})
