/** Access control lists, held against what `getfacl` and `setfacl` make of them. */
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasAcl, setAcl } from '../../src/system/acl.ts'

const directory = mkdtempSync(join(tmpdir(), 'ncp-acl-'))
afterAll(() => rmSync(directory, { recursive: true }))

const run = (...command: string[]) => Bun.spawnSync(command).stdout.toString()
const hasTools = Bun.which('setfacl') !== null
if (!hasTools && Bun.env.CI) throw new Error('acl is not installed')

const users = new Map([
  [200_012, 5],
  [999, 1],
])

test.skipIf(!hasTools)('a list is as setfacl would make it', () => {
  const [ours, theirs] = [join(directory, 'ours'), join(directory, 'theirs')]
  for (const path of [ours, theirs]) mkdirSync(path)
  setAcl(ours, { mode: 0o710, users })
  run('chmod', '710', theirs)
  run('setfacl', '-m', 'u:200012:rx,u:999:x', theirs)
  expect(run('getfacl', '-cpn', ours)).toBe(run('getfacl', '-cpn', theirs))
  expect(statSync(ours).mode & 0o777).toBe(0o750)
  expect(hasAcl(theirs, { mode: 0o710, users })).toBeTrue()
})

test.skipIf(!hasTools)('another list, another mode and no list are told apart', () => {
  const path = join(directory, 'changed')
  mkdirSync(path)
  expect(hasAcl(path, { mode: 0o710, users })).toBeFalse()
  setAcl(path, { mode: 0o710, users })
  expect(hasAcl(path, { mode: 0o710, users })).toBeTrue()
  for (const change of [
    ['setfacl', '-m', 'u:1000:r'],
    ['setfacl', '-x', 'u:999'],
    ['chmod', 'o+r'],
    ['chmod', 'g-r'],
  ]) {
    setAcl(path, { mode: 0o710, users })
    run(...change, path)
    expect([change, hasAcl(path, { mode: 0o710, users })]).toEqual([change, false])
  }
})

test('a link is not followed, and what cannot be set is an error', () => {
  const path = join(directory, 'target')
  mkdirSync(path)
  const before = statSync(path).mode
  symlinkSync(path, join(directory, 'link'))
  expect(() => setAcl(join(directory, 'link'), { mode: 0o777, users })).toThrow('could not be set')
  expect(() => setAcl(join(directory, 'missing'), { mode: 0o777, users })).toThrow('could not be set')
  expect(statSync(path).mode).toBe(before)
})
