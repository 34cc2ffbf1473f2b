/** The rescue on the server as root, where the panel runs as a user of its own. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chownSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Installation, install } from '../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(60_000)

/** Nobody but root can give files away. */
const OWNER = process.getuid?.() === 0 ? 12_345 : (process.getuid?.() ?? 0)

let here: Installation
beforeAll(async () => {
  here = await install()
  await (await here.serve()).stop()
  mkdirSync(here.path('backups'))
  const theirs = [here.directory, here.path('backups'), here.inData(), ...belowData()]
  for (const path of theirs) chownSync(path, OWNER, OWNER)
})
afterAll(() => here.remove())

function belowData(): string[] {
  return ['data', 'backups'].flatMap((name) =>
    readdirSync(here.path(name), { recursive: true, encoding: 'utf8' }).map((entry) => join(here.path(name), entry)),
  )
}

test.each<[string, string, ...string[]]>([
  ['user', 'list'],
  ['user', 'create', '--email', 'ada@example.com'],
  ['audit', 'verify'],
  ['cert', 'renew'],
  ['backup', 'create'],
  ['migrate', 'up'],
])('ncp %s %s leaves nothing behind that the panel could not read', async (group, name, ...options: string[]) => {
  const command = [group, name, ...options]
  const environment = { NCP_BACKUP_DIR: 'backups' }
  const { exitCode, stderr } = await here.run(command, { environment })
  expect([exitCode, stderr]).toEqual([0, ''])
  const foreign = belowData().filter((path) => lstatSync(path).uid !== OWNER)
  expect(foreign).toEqual([])
})

test('nor does a backup that is put back', async () => {
  const environment = { NCP_BACKUP_DIR: 'backups' }
  const [name = ''] = readdirSync(here.path('backups'))
  const { exitCode, stderr } = await here.run(['backup', 'restore', name], { environment })
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(belowData().filter((path) => lstatSync(path).uid !== OWNER)).toEqual([])
  expect((await here.run(['user', 'list'], { environment })).stdout).toContain('ada@example.com')
})
