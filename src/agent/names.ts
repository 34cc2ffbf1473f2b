/** The names of sites: each a link to what one generation of a site serves, switched by one rename. */
import { renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { siteOfGeneration } from './generations.ts'
import type { NodeLayout } from './layout.ts'
import { linkTarget, namesIn } from './tree.ts'

/** Where links lead: `../gen/7.31`. */
const PREFIX = '../gen/'

export type Names = ReturnType<typeof createNames>

export type NamesOptions = {
  layout: NodeLayout
  /**
   * Told around each change of the site to which a name leads.
   *
   * @param siteId undefined: to none
   * @param change makes the change
   */
  onMove?(name: string, siteId: number | undefined, change: () => void): void
}

export function createNames({ layout, onMove = (_name, _siteId, change) => change() }: NamesOptions) {
  /** By site, its names; by name, its site. As on disk when it was looked at last. */
  const bySite = new Map<number, Set<string>>()
  const byName = new Map<string, number>()
  /** By name, the site to which this process has let it lead: what is not so any longer was changed by someone else. */
  const led = new Map<string, number>()

  const targetOf = (name: string) => linkTarget(join(layout.names, name))

  function note(name: string, siteId: number | undefined): void {
    const before = byName.get(name)
    if (before !== undefined) bySite.get(before)?.delete(name)
    if (siteId === undefined) {
      byName.delete(name)
      led.delete(name)
      return
    }
    byName.set(name, siteId)
    const names = bySite.get(siteId) ?? new Set()
    bySite.set(siteId, names.add(name))
  }

  function move(name: string, siteId: number | undefined, change: () => void): void {
    if (byName.get(name) === siteId) change()
    else onMove(name, siteId, change)
    note(name, siteId)
  }

  /** Only what leads to the site: someone else may have put something else there. */
  function remove(name: string, siteId: number): void {
    if (siteOfTarget(targetOf(name)) === siteId) move(name, undefined, () => rmSync(join(layout.names, name)))
    else note(name, undefined)
  }

  return {
    /** Looks at all names again. */
    scan(): void {
      bySite.clear()
      byName.clear()
      for (const name of namesIn(layout.names)) {
        const siteId = siteOfTarget(targetOf(name))
        if (siteId !== undefined) note(name, siteId)
      }
    },

    sites: (): number[] => [...bySite].filter(([, names]) => names.size > 0).map(([siteId]) => siteId),

    /** Lets these names lead to a generation of a site, and no others to the site. @returns those that someone else had changed */
    lead(siteId: number, generation: string, names: readonly string[]): string[] {
      const target = `${PREFIX}${generation}`
      const lost: string[] = []
      for (const name of names) {
        const found = targetOf(name)
        const isLost = led.get(name) === siteId && siteOfTarget(found) !== siteId
        if (isLost) lost.push(join(layout.names, name))
        led.set(name, siteId)
        if (found === target) {
          if (byName.get(name) !== siteId) note(name, siteId)
          continue
        }
        // Not beside the names, where a visitor could ask for it.
        const made = join(layout.staging, `name-${siteId}`)
        rmSync(made, { force: true })
        symlinkSync(target, made)
        move(name, siteId, () => renameSync(made, join(layout.names, name)))
      }
      const wanted = new Set(names)
      for (const name of bySite.get(siteId) ?? []) if (!wanted.has(name)) remove(name, siteId)
      return lost
    },

    /** Lets no name lead to a site. */
    forget(siteId: number): void {
      for (const name of bySite.get(siteId) ?? []) remove(name, siteId)
      bySite.delete(siteId)
    },
  }
}

const siteOfTarget = (target: string | undefined): number | undefined =>
  target?.startsWith(PREFIX) ? siteOfGeneration(target.slice(PREFIX.length)) : undefined
