/** The database's files deleted or replaced under a running panel: no change is confirmed that no file with a name holds. */
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const SERVE = ['--no-tls']
const REASON = 'Not ready: database files were moved, deleted or replaced'

let here: Installation
let panel: RunningBinary
let as: string
beforeEach(async () => {
  here = await install()
  panel = await here.serve(SERVE)
  as = (await panel.login('admin@localhost', here.adminPassword())).data.token
  expect((await createKey('before')).status).toBe(201)
})
afterEach(() => here.remove())

const createKey = (name: string) => panel.send('POST', '/auth/api-keys', { as, body: { name } })
const readiness = async () => {
  const answer = await panel.request('/readyz')
  return [answer.status, ((await answer.json()) as { message: string }).message]
}
function keyNames(path: string): string[] {
  using database = new Database(path)
  return database
    .query<{ name: string }, []>('SELECT name FROM api_keys ORDER BY id')
    .all()
    .map(({ name }) => name)
}

async function expectNoChanges(problems: string[]): Promise<void> {
  for (const name of ['first', 'second']) {
    const refused = await createKey(name)
    expect([refused.status, refused.error, refused.headers.get('retry-after'), refused.message]).toEqual([
      503,
      'service unavailable',
      '30',
      'The panel cannot write to its disk and accepts no changes; tell its operator',
    ])
  }
  expect(await readiness()).toEqual([503, REASON])
  expect((await panel.send('GET', '/auth/me', { as })).status).toBe(200)
  const told = panel.stderr().match(/^.*files were moved, deleted or replaced while the panel is running.*$/gm)
  expect(told?.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 'error', problems, saved: 'data/ncp.db.saved' }),
  ])
  expect(statSync(here.inData('ncp.db.saved')).mode & 0o777).toBe(0o600)
}

/** As the log tells the operator to do. */
async function putSavedInPlace(): Promise<void> {
  for (const name of ['ncp.db-wal', 'ncp.db-shm']) if (existsSync(here.inData(name))) rmSync(here.inData(name))
  renameSync(here.inData('ncp.db.saved'), here.inData('ncp.db'))
  panel = await here.serve(SERVE)
  expect((await createKey('after')).status).toBe(201)
  expect(await readiness()).toEqual([200, ''])
  expect(await panel.stop()).toBe(0)
  const names = keyNames(here.inData('ncp.db'))
  expect([names[0], names.at(-1)]).toEqual(['before', 'after'])
}

describe('a deleted log and index', () => {
  const remove = () => {
    rmSync(here.inData('ncp.db-wal'))
    rmSync(here.inData('ncp.db-shm'))
  }

  test('stop changes and readiness, and everything confirmed is saved', async () => {
    remove()
    await expectNoChanges(['data/ncp.db-wal is gone', 'data/ncp.db-shm is gone'])
    panel.signal('SIGKILL')
    await panel.ended()
    await putSavedInPlace()
  })

  test('lose nothing at an orderly stop', async () => {
    remove()
    await expectNoChanges(['data/ncp.db-wal is gone', 'data/ncp.db-shm is gone'])
    await panel.stop()
    expect(keyNames(here.inData('ncp.db'))).toContain('before')
  })

  test('are noticed by a readiness check, before any write', async () => {
    remove()
    expect(await readiness()).toEqual([503, REASON])
  })
})

describe('a database replaced by another file', () => {
  test('stops changes and readiness, is left alone, and everything confirmed is saved', async () => {
    copyFileSync(here.inData('ncp.db'), here.path('other'))
    renameSync(here.path('other'), here.inData('ncp.db'))
    const { ino, mtimeMs } = statSync(here.inData('ncp.db'))
    await expectNoChanges(['data/ncp.db is another file'])
    await panel.stop()
    const left = statSync(here.inData('ncp.db'))
    expect([left.ino, left.mtimeMs]).toEqual([ino, mtimeMs])
    await putSavedInPlace()
  })
})
