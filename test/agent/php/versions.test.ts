/** Which versions of PHP-FPM count as installed. */
import { expect, test } from 'bun:test'
import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installedVersions } from '../../../src/agent/php/versions.ts'
import { newDirectory } from '../../harness/directory.ts'

const isRoot = process.getuid?.() === 0

test.skipIf(!isRoot)('programs of root, the newest version first, and nothing that only looks like one', async () => {
  const directory = newDirectory()
  const add = (name: string, mode = 0o755) => {
    writeFileSync(join(directory, name), '')
    chmodSync(join(directory, name), mode)
  }
  for (const name of ['php-fpm8.2', 'php-fpm8.10', 'php-fpm7.4']) add(name)
  for (const name of ['php-fpm', 'php-fpm8', 'php-fpm8.2.1', 'php-fpm8.3.old', 'xphp-fpm8.4', 'php-fpm8.5\n']) add(name)
  add('php-fpm8.6', 0o644)
  add('php-fpm8.7', 0o777)
  mkdirSync(join(directory, 'php-fpm8.8'))
  symlinkSync('nowhere', join(directory, 'php-fpm8.9'))
  expect((await installedVersions(directory)).map(({ version }) => version)).toEqual(['8.10', '8.2', '7.4'])
  expect((await installedVersions(directory))[0]?.program).toBe(join(directory, 'php-fpm8.10'))
  rmSync(directory, { recursive: true })
})

test.skipIf(!isRoot)('an upgraded program is another build', async () => {
  const directory = newDirectory()
  const program = join(directory, 'php-fpm8.2')
  writeFileSync(program, '', { mode: 0o755 })
  const [before] = await installedVersions(directory)
  utimesSync(program, 1, 1)
  const [after] = await installedVersions(directory)
  expect(after?.build).not.toBe(before?.build as string)
  rmSync(directory, { recursive: true })
})

test('a machine without the directory has none', async () => {
  expect(await installedVersions('/nowhere')).toEqual([])
})
