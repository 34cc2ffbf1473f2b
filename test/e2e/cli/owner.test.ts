/** The rescue on the server as root, where the panel runs as a user of its own. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Installation, install } from '../../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

/** Only root can give files away. */
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
])('ncp %s %s leaves no file that the panel could not read', async (group, name, ...options: string[]) => {
  const command = [group, name, ...options]
  const environment = { NCP_BACKUP_DIR: 'backups' }
  const { exitCode, stderr } = await here.run(command, { environment })
  expect([exitCode, stderr]).toEqual([0, ''])
  const foreign = belowData().filter((path) => lstatSync(path).uid !== OWNER)
  expect(foreign).toEqual([])
})

test('nor does a restored backup', async () => {
  const environment = { NCP_BACKUP_DIR: 'backups' }
  const [name = ''] = readdirSync(here.path('backups'))
  const { exitCode, stderr } = await here.run(['backup', 'restore', name], { environment })
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(belowData().filter((path) => lstatSync(path).uid !== OWNER)).toEqual([])
  expect((await here.run(['user', 'list'], { environment })).stdout).toContain('ada@example.com')
})

// Only root can be led anywhere that the owner could not go by itself.
describe.skipIf(process.getuid?.() !== 0)('root follows no link that the data’s owner planted', () => {
  const COMMANDS = [
    ['user', 'list'],
    ['audit', 'verify'],
    ['cert', 'renew'],
    ['migrate', 'status'],
    ['migrate', 'up'],
    ['backup', 'create'],
    ['backup', 'list'],
    ['serve', '--port', '0', '--no-tls'],
  ]
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

  test.each(COMMANDS.map((command) => [command.join(' '), command] as const))(
    'as its database: ncp %s',
    async (_, command) => {
      const target = here.path('roots-file')
      copyFileSync(here.inData('ncp.db'), target)
      chownSync(target, 0, 0)
      chmodSync(target, 0o644)
      renameSync(here.inData('ncp.db'), here.inData('kept.db'))
      symlinkSync(target, here.inData('ncp.db'))
      const before = readFileSync(target)
      // It may fail, and for most of them must.
      await here.run(command)
      expect([modeOf(target), readFileSync(target).equals(before)]).toEqual(['644', true])
      rmSync(here.inData('ncp.db'))
      renameSync(here.inData('kept.db'), here.inData('ncp.db'))
    },
  )

  test('as the directory of its backups', async () => {
    const target = here.path('roots-directory')
    mkdirSync(target, { mode: 0o755 })
    rmSync(here.inData('backups'), { recursive: true, force: true })
    symlinkSync(target, here.inData('backups'))
    const { exitCode } = await here.run(['backup', 'create'])
    expect([exitCode, modeOf(target), readdirSync(target)]).toEqual([1, '755', []])
    rmSync(here.inData('backups'))
  })
})
