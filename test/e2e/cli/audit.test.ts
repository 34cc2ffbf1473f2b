/** `ncp audit verify` on the compiled program, beside a running panel and without one. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type Installation, install } from '../../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

let here: Installation
beforeAll(async () => {
  here = await install()
})
afterAll(() => here.remove())

const verify = (...args: string[]) => here.run(['audit', 'verify', ...args])

test('proves the chain while the panel runs, and prints an anchor for the next check', async () => {
  const panel = await here.serve()
  await panel.login('admin@localhost', here.adminPassword())
  const { exitCode, stdout, stderr } = await verify()
  expect([exitCode, stderr]).toEqual([0, ''])
  const anchor = /^2 entries, unbroken up to (2:[0-9a-f]{64})\n$/.exec(stdout)?.[1] ?? stdout
  await panel.login('admin@localhost', here.adminPassword())
  expect((await verify('--anchor', anchor)).stdout).toMatch(/^3 entries, unbroken up to 3:/)
  expect(JSON.parse((await verify('--json')).stdout)).toMatchObject({ valid: true, entries: 3, head: { id: 3 } })
  expect(await verify('--anchor', `2:${'0'.repeat(64)}`)).toMatchObject({
    exitCode: 1,
    stderr: 'ncp: the audit log is broken at entry 2: it differs from the anchor\n',
  })
  await panel.stop()
})

test.each([
  ['is missing', 'DROP TRIGGER audit_log_no_delete', 'trigger audit_log_no_delete is missing'],
  [
    'does something else',
    'CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log WHEN false BEGIN SELECT 1; END',
    'trigger audit_log_no_delete differs from the schema of this version',
  ],
  [
    'is foreign',
    'CREATE TRIGGER extra BEFORE INSERT ON sites BEGIN SELECT 1; END',
    "trigger extra is not one of the panel's",
  ],
])('fails where a trigger %s', async (_, statement, problem) => {
  using database = new Database(here.inData('ncp.db'))
  database.run(statement)
  expect(await verify()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(problem) })
  expect(JSON.parse((await verify('--json')).stdout)).toMatchObject({ valid: false, entryId: null })
})

test('fails on a changed entry', async () => {
  using database = new Database(here.inData('ncp.db'))
  database.run('DROP TRIGGER audit_log_no_update')
  database.run("UPDATE audit_log SET address = '192.0.2.1' WHERE id = 2")
  expect(await verify()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('broken at entry 2') })
  expect(await verify('--json')).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('"valid":false') })
})

test('requires an anchor in the printed form, and the directory of a panel', async () => {
  expect(await verify('--anchor', '2')).toMatchObject({ exitCode: 2 })
  expect(await verify('--data', 'elsewhere')).toMatchObject({ exitCode: 3 })
})
