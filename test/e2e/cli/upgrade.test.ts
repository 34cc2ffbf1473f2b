/** `ncp upgrade` with real other versions of the program, of which one is good, and killed between its steps. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { version } from '../../../package.json' with { type: 'json' }
import { run } from '../../../src/cli/run.ts'
import { type Installation, install } from '../../harness/binary.ts'
import { checkOut } from '../../harness/checkout.ts'
import { outputOf } from '../../harness/program.ts'
import { type Call, canTrace, killBefore, traceChanges } from '../../harness/strace.ts'
import { DEADLINE_MS, until } from '../../harness/until.ts'

setDefaultTimeout(180_000)

const NEXT_VERSION = '9.9.9'
/** What systemd does for a unit of Type=notify, where no systemd runs: `start` returns when the panel serves. */
const SYSTEMCTL = `#!/bin/sh
if [ "$1" = show ]; then
  [ "$5" = ncp ] && echo loaded || echo not-found
  exit 0
fi
[ "$2" = ncp ] || exit 5
case $1 in
  stop)
    [ -f pid ] || exit 0
    kill -TERM "$(cat pid)" 2>/dev/null
    while kill -0 "$(cat pid)" 2>/dev/null; do sleep 0.1; done
    rm pid
    ;;
  start)
    [ -f pid ] && kill -0 "$(cat pid)" 2>/dev/null && exit 0
    ./ncp serve --port 0 --no-tls >out 2>err &
    echo $! >pid
    while kill -0 "$(cat pid)" 2>/dev/null; do
      grep -q '^ncp listens' out && exit 0
      sleep 0.1
    done
    echo "Job for ncp.service failed." >&2
    exit 1
    ;;
esac
`

let workshop: string
let here: Installation
beforeAll(() => {
  workshop = mkdtempSync(join(tmpdir(), 'ncp-upgrade-'))
})
afterAll(async () => {
  await remove()
  rmSync(workshop, { recursive: true, force: true })
})

/** Builds a version with a migration more, once, and publishes it in a folder. @returns its path */
function publish(
  name: string,
  { migration = 'CREATE TABLE next_version (id INTEGER PRIMARY KEY) STRICT;', breaks = false },
) {
  const folder = join(workshop, name)
  const file = join(folder, 'ncp-linux')
  if (existsSync(file)) return file
  const next = checkOut(join(workshop, `${name}-source`))
  next.replace('package.json', `"version": "${version}"`, `"version": "${NEXT_VERSION}"`)
  next.write('drizzle/9999_next.sql', migration)
  next.replace(
    'src/db/sqlite/migrations.ts',
    'export type Migration',
    "import next from '../../../drizzle/9999_next.sql' with { type: 'text' }\n\nexport type Migration",
  )
  next.replace('src/db/sqlite/migrations.ts', '\n]', "\n  { name: '9999_next', sql: next },\n]")
  if (breaks) next.replace('src/cli/serve.ts', 'panel.outbox.start()', "throw new Error('broken on purpose')")
  mkdirSync(folder)
  copyFileSync(next.build(), file)
  writeFileSync(join(folder, 'SHA256SUMS'), `${Bun.SHA256.hash(readFileSync(file), 'hex')}  ncp-linux\n`)
  return file
}

const environment = () => ({ PATH: `${here.path('bin')}:/usr/bin:/bin` })
const systemctl = (verb: string) =>
  run(['env', `PATH=${environment().PATH}`, 'systemctl', verb, 'ncp'], { cwd: here.directory })

async function upgrade(...args: string[]) {
  const child = Bun.spawn(['./ncp', 'upgrade', ...args], {
    cwd: here.directory,
    env: environment(),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  return outputOf(child, `ncp upgrade ${args.join(' ')}`, 2 * DEADLINE_MS)
}

const origin = () => /^ncp listens on ([^,]+),/m.exec(here.read('out'))?.[1] ?? 'nowhere'
async function runningVersion() {
  // The service manager is told first, and the terminal then.
  await until('the address of the panel', () => origin() !== 'nowhere')
  return Bun.YAML.parse(await (await fetch(`${origin()}/api/docs/openapi.yaml`)).text()) as {
    info: { version: string }
  }
}
const migrations = () => {
  using database = new Database(here.inData('ncp.db'), { readonly: true })
  return database
    .query<{ name: string }, []>('SELECT name FROM schema_migrations ORDER BY name')
    .all()
    .map(({ name }) => name)
}
const users = () => {
  using database = new Database(here.inData('ncp.db'), { readonly: true })
  return database.query<{ n: number }, []>('SELECT count(*) AS n FROM users').get()?.n
}

/** Stops the panel first: a script started it, so nothing else would. */
async function remove(): Promise<void> {
  if (!here) return
  systemctl('stop')
  await here.remove()
}

/** Another installation, of this version, which serves. */
async function installAnew(): Promise<void> {
  await remove()
  here = await install()
  mkdirSync(here.path('bin'))
  writeFileSync(here.path('bin/systemctl'), SYSTEMCTL, { mode: 0o755 })
  systemctl('start')
  await here.run(['user', 'create', '--email', 'ada@example.com', '--password-stdin'], {
    stdin: 'correct horse battery staple',
  })
}

describe('an installation', () => {
  beforeEach(installAnew)

  test('runs the other version, with its migration and all data; the previous program and a backup are kept', async () => {
    const file = publish('good', {})
    const { exitCode, stdout, stderr } = await upgrade(file)
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`version ${NEXT_VERSION} works with a copy of the database`)
    expect(stdout).toContain(`version ${NEXT_VERSION} is running`)
    expect((await runningVersion()).info.version).toBe(NEXT_VERSION)
    expect(migrations()).toContain('9999_next')
    expect(users()).toBe(2)
    expect(run([here.path('ncp.previous'), 'version'], { cwd: here.directory })).toBe(`${version}\n`)
    expect((await here.run(['backup', 'verify'])).exitCode).toBe(0)
    expect(existsSync(here.inData('upgrade-trial'))).toBe(false)
    systemctl('stop')
  })

  test('is restored when the other version does not become ready', async () => {
    const file = publish('broken', { breaks: true })
    const before = migrations()
    const { exitCode, stderr } = await upgrade(file)
    expect(exitCode).toBe(1)
    expect(stderr).toContain('did not become ready, so this one is running again')
    expect((await runningVersion()).info.version).toBe(version)
    expect(migrations()).toEqual(before)
    expect(users()).toBe(2)
    expect(run([here.path('ncp'), 'version'], { cwd: here.directory })).toBe(`${version}\n`)
    expect(existsSync(here.path('ncp.next'))).toBe(false)
    systemctl('stop')
  })

  test('is not stopped for a version that cannot migrate it, is damaged, or has no checksum', async () => {
    const pid = here.read('pid')
    const incapable = publish('incapable', { migration: 'INSERT INTO nowhere VALUES (1);' })
    expect(await upgrade(incapable)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('nowhere') })

    const damaged = join(workshop, 'incapable', 'ncp-linux')
    writeFileSync(join(workshop, 'incapable', 'SHA256SUMS'), `${'0'.repeat(64)}  ncp-linux\n`)
    expect(await upgrade(damaged)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('download it again') })
    writeFileSync(join(workshop, 'incapable', 'SHA256SUMS'), `${'0'.repeat(64)}  other\n`)
    expect(await upgrade(damaged)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('has no checksum for'),
    })
    rmSync(join(workshop, 'incapable', 'SHA256SUMS'))
    expect(await upgrade(damaged)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--sums') })

    expect(here.read('pid')).toBe(pid)
    expect((await runningVersion()).info.version).toBe(version)
    expect(existsSync(here.path('ncp.next'))).toBe(false)
    expect(await upgrade('not-there')).toMatchObject({
      exitCode: 1,
      stderr: 'ncp: not-there does not exist: give the path of the other version\n',
    })
    systemctl('stop')
  })
})

describe('without a service to upgrade', () => {
  beforeAll(async () => {
    await remove()
    here = await install()
    mkdirSync(here.path('bin'))
    await (await here.serve()).stop()
    writeFileSync(here.path('other'), 'another version')
  })

  test.each([
    [
      'where there is no systemd',
      undefined,
      'this machine has no systemd, so upgrade by hand: stop the panel, copy ./other',
    ],
    [
      'where systemd does not run',
      'echo "System has not been booted with systemd." >&2; exit 1',
      'systemd does not answer',
    ],
    ['where it has no such unit', 'echo not-found', 'name the unit that runs the panel with --service'],
  ])('%s, the command says so before it makes a backup', async (_, script, message) => {
    const PATH = here.path('bin')
    if (script === undefined) rmSync(here.path('bin/systemctl'), { force: true })
    else writeFileSync(here.path('bin/systemctl'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const { exitCode, stdout, stderr } = await here.run(['upgrade', './other'], { environment: { PATH } })
    expect([exitCode, stdout, stderr]).toEqual([1, '', expect.stringContaining(message)])
    expect(existsSync(here.inData('backups'))).toBe(false)
    expect(existsSync(here.path('ncp.next'))).toBe(false)
  })
})

describe.skipIf(!canTrace)('an upgrade that is killed', () => {
  const tracing = () => ({ cwd: here.directory, environment: environment() })
  /** What changed a program, or waited for the disk to have it, with `.` for the directory of the programs. */
  const ofPrograms = (calls: Call[]) =>
    calls
      .map((call) => ({ ...call, args: call.args.replace(/^AT_FDCWD<.*?>, /, '').replaceAll(here.directory, '.') }))
      .filter(({ args }) => /["<]\.(\/ncp(\.next|\.previous)?)?[">]/.test(args))

  test('leaves one program or the other in place at every moment, and the panel starts from it', async () => {
    const file = publish('good', {})
    const command = ['./ncp', 'upgrade', file]
    await installAnew()
    const traced = await traceChanges(command, tracing())
    expect([traced.exitCode, traced.stderr]).toEqual([0, ''])
    systemctl('stop')
    const calls = ofPrograms(traced.calls).slice(-4)
    expect(calls.map(({ name, args }) => `${name} ${args.replaceAll(/\d+</g, '<')}`)).toEqual([
      // On the disk first: after a power cut a name without its content would be no program.
      'fsync <./ncp.next>',
      'link "./ncp", "./ncp.previous"',
      'rename "./ncp.next", "./ncp"',
      'fsync <.>',
    ])

    await installAnew()
    const inPlace: string[] = []
    for (const call of calls) {
      expect([call, (await killBefore(call, command, tracing())).exitCode]).toEqual([call, null])
      const found = run([here.path('ncp'), 'version'], { cwd: here.directory }).trim()
      inPlace.push(found)
      systemctl('start')
      expect((await runningVersion()).info.version).toBe(found)
      expect(users()).toBe(2)
    }
    expect(inPlace).toEqual([version, version, version, NEXT_VERSION])
    expect(await upgrade(file)).toMatchObject({ exitCode: 0, stderr: '' })
    expect((await runningVersion()).info.version).toBe(NEXT_VERSION)
    systemctl('stop')
  })

  test('while it rolls back can be rolled back by hand, as the manual says', async () => {
    await installAnew()
    const before = migrations()
    const command = ['./ncp', 'upgrade', publish('broken', { breaks: true })]
    // The first exchanges the programs, the second puts back the one before.
    const { exitCode } = await killBefore({ name: 'rename', ordinal: 2, args: '' }, command, tracing())
    expect(exitCode).toBe(null)
    expect(() => systemctl('start')).toThrow('failed')
    expect(migrations()).not.toEqual(before)

    renameSync(here.path('ncp.previous'), here.path('ncp'))
    const list = run([here.path('ncp'), 'backup', 'list'], { cwd: here.directory })
    const [newest = ''] = list.trim().split('\n').at(-1)?.split('\t') ?? []
    run([here.path('ncp'), 'backup', 'restore', newest], { cwd: here.directory })
    systemctl('start')
    expect((await runningVersion()).info.version).toBe(version)
    expect(migrations()).toEqual(before)
    expect(users()).toBe(2)
    systemctl('stop')
  })
})
