/** The names of sites: each a link to what one generation of a site serves, switched by one rename. */
import { lstatSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { siteOfGeneration } from './generations.ts'
import type { NodeLayout } from './layout.ts'
import { linkTarget, namesIn } from './tree.ts'
import type { NameHistory } from './web/name-history.ts'

/** Where links lead: `../gen/7.31`. */
const PREFIX = '../gen/'

export type Names = ReturnType<typeof createNames>

export type NamesOptions = {
  layout: Pick<NodeLayout, 'names' | 'staging'>
  /** Told of each change of the site to which a name leads. */
  history: Pick<NameHistory, 'led' | 'found'>
  clock: Clock
}

export function createNames({ layout, history, clock }: NamesOptions) {
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
      return
    }
    byName.set(name, siteId)
    const names = bySite.get(siteId) ?? new Set()
    bySite.set(siteId, names.add(name))
  }

  /** What nobody here has done, or what was done before this process began. */
  function noteFound(name: string, siteId: number | undefined): void {
    const changed = lstatSync(join(layout.names, name), { throwIfNoEntry: false })?.ctimeMs
    history.found(name, siteId, { at: changed && Math.ceil(changed), now: clock.now() })
    note(name, siteId)
  }

  function move(name: string, siteId: number | undefined, change: () => void): void {
    const before = clock.now()
    change()
    history.led(name, siteId, before, clock.now())
    note(name, siteId)
  }

  /** Only what leads to the site: someone else may have put something else there. */
  function remove(name: string, siteId: number): void {
    led.delete(name)
    const found = siteOfTarget(targetOf(name))
    if (found === siteId) move(name, undefined, () => rmSync(join(layout.names, name)))
    else noteFound(name, found)
  }

  return {
    /** Looks at all names again. */
    scan(): void {
      const gone = new Set(byName.keys())
      for (const name of namesIn(layout.names)) {
        const siteId = siteOfTarget(targetOf(name))
        if (siteId === undefined) continue
        gone.delete(name)
        if (byName.get(name) !== siteId) noteFound(name, siteId)
      }
      for (const name of gone) noteFound(name, undefined)
    },

    sites: (): number[] => [...bySite].filter(([, names]) => names.size > 0).map(([siteId]) => siteId),

    /** Lets these names lead to a generation of a site, and no others to the site. @returns those that someone else had changed */
    lead(siteId: number, generation: string, names: readonly string[]): string[] {
      const target = `${PREFIX}${generation}`
      const lost: string[] = []
      for (const name of names) {
        const found = targetOf(name)
        const foundSite = siteOfTarget(found)
        const isLost = led.get(name) === siteId && foundSite !== siteId
        if (isLost) lost.push(join(layout.names, name))
        if (foundSite !== byName.get(name)) noteFound(name, foundSite)
        led.set(name, siteId)
        if (found === target) continue
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
