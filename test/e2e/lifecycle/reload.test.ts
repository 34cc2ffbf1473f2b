/** SIGHUP for a compiled panel: the log level holds at once, a broken file changes nothing. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { until } from '../../harness/until.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

let here: Installation
let panel: RunningBinary
const settings = (toml: string) => writeFileSync(here.path('ncp.toml'), toml)
beforeAll(async () => {
  here = await install()
  settings('log_level = "info"\nlimit_probe = 100\n')
  panel = await here.serve(['--no-tls', '--config', 'ncp.toml'])
})
afterAll(() => here.remove())

const READ = 'configuration reloaded'

test('an invalid file changes nothing, and the log names each line', async () => {
  settings('log_level = "silent"\nprot = 1\n')
  panel.signal('SIGHUP')
  await until('the complaint', () => panel.stderr().includes('ncp.toml:2: prot: is not a known setting'))
  expect(panel.stderr()).toContain('the old one stays')
  // At the level of the broken file this would be missing.
  settings('log_level = "info"\nlimit_probe = 100\n')
  panel.signal('SIGHUP')
  await until('the line in the log', () => panel.stderr().includes(READ))
})

test('a setting that takes effect only at the next start is named', async () => {
  settings('log_level = "info"\nlimit_probe = 7\n')
  panel.signal('SIGHUP')
  await until('the warning', () => panel.stderr().includes('"settings":["limit_probe"]'))
  expect((await panel.request('/livez')).headers.get('x-ratelimit-limit')).toBe('100')
})

test('the log level takes effect at once', async () => {
  settings('log_level = "warn"\nlimit_probe = 100\n')
  panel.signal('SIGHUP')
  settings('log_level = "warn"\nlimit_probe = 8\n')
  const lines = () => panel.stderr().split(READ).length
  const before = lines()
  await until('the second warning', () => {
    panel.signal('SIGHUP')
    return panel.stderr().split('"settings":["limit_probe"]').length > 2
  })
  expect(lines()).toBe(before)
  expect(await panel.stop()).toBe(0)
})

test('the log file is reopened after it was rotated away', async () => {
  const rotating = await here.serve(['--no-tls', '--config', 'ncp.toml'], { NCP_LOG_FILE: 'ncp.log' })
  renameSync(here.path('ncp.log'), here.path('ncp.log.1'))
  rotating.signal('SIGHUP')
  await until('a new file', () => existsSync(here.path('ncp.log')))
  expect(await rotating.stop()).toBe(0)
})
