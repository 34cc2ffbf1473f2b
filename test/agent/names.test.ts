/** Names of sites as links on disk, and what the history learns of them. */
import { expect, test } from 'bun:test'
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createNames } from '../../src/agent/names.ts'
import { createNameHistory } from '../../src/agent/web/name-history.ts'
import { systemClock } from '../../src/core/clock.ts'
import { newDirectory } from '../harness/directory.ts'

const HOUR_MS = 60 * 60 * 1000

function world() {
  const directory = newDirectory('ncp-names-')
  const layout = { names: join(directory, 'www'), staging: join(directory, 'staging') }
  for (const path of Object.values(layout)) mkdirSync(path)
  const start = (startedAt: number) => {
    const history = createNameHistory({ startedAt, blurMs: 0 })
    const names = createNames({ layout, history, clock: systemClock })
    names.scan()
    const siteOf = (name: string) => history.siteAt(name, systemClock.now() + 1, systemClock.now() + 2)
    return { names, history, siteOf }
  }
  return { layout, start }
}

test('each change of the site of a name is known, and a new generation is none', () => {
  const { start } = world()
  const began = systemClock.now()
  const { names, history, siteOf } = start(began)
  names.lead(7, '7.1', ['a.test', 'b.test'])
  names.lead(7, '7.2', ['a.test', 'b.test'])
  expect([siteOf('a.test'), siteOf('b.test')]).toEqual([7, 7])
  names.lead(7, '7.3', ['a.test'])
  names.lead(8, '8.1', ['b.test'])
  expect([siteOf('a.test'), siteOf('b.test')]).toEqual([7, 8])
  names.forget(7)
  expect(siteOf('a.test')).toBeUndefined()
  expect(history.siteAt('a.test', began - HOUR_MS, systemClock.now())).toBeUndefined()
})

test('after a restart a name is known from when its link was made', () => {
  const { start } = world()
  start(0).names.lead(7, '7.1', ['a.test'])
  const { history, siteOf, names } = start(systemClock.now() + HOUR_MS)
  expect(siteOf('a.test')).toBe(7)
  expect(history.siteAt('a.test', systemClock.now() - HOUR_MS, systemClock.now() + 1)).toBeUndefined()
  names.lead(7, '7.1', ['a.test'])
  expect(siteOf('a.test')).toBe(7)
})

test('what someone else does to a link is found, and put right', () => {
  const { layout, start } = world()
  const { names, siteOf } = start(0)
  names.lead(7, '7.1', ['a.test', 'b.test'])
  symlinkSync('../gen/8.1', join(layout.staging, 'link'))
  renameSync(join(layout.staging, 'link'), join(layout.names, 'a.test'))
  rmSync(join(layout.names, 'b.test'))
  names.scan()
  expect([siteOf('a.test'), siteOf('b.test')]).toEqual([8, undefined])
  expect(names.sites()).toEqual([8])
  expect(names.lead(7, '7.1', ['a.test', 'b.test'])).toEqual([
    join(layout.names, 'a.test'),
    join(layout.names, 'b.test'),
  ])
  expect([siteOf('a.test'), siteOf('b.test')]).toEqual([7, 7])
})
