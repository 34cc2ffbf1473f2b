/** The directories of a subscription and of its sites. */
import { lstatSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type Directory, ensureDirectory } from './directory.ts'
import { homeOf, type NodeLayout, siteOf, uidOf, userOf } from './layout.ts'

const READ_AND_ENTER = 5
const ENTER = 1

export type Tree = ReturnType<typeof createTree>

/** @param webUid of the web server's workers */
export function createTree(layout: NodeLayout, webUid: number) {
  const releasesOf = (subscriptionId: number, siteId: number) =>
    join(siteOf(layout, subscriptionId, siteId), 'releases')

  /** Parents first. Nobody else gets below the first, whatever modes a customer sets there. */
  function homeTree(subscriptionId: number): Directory[] {
    const home = homeOf(layout, subscriptionId)
    const uid = uidOf(subscriptionId)
    return [
      // Without the right to read it, SFTP could not list it.
      {
        path: home,
        mode: 0o710,
        users: new Map([
          [uid, READ_AND_ENTER],
          [webUid, ENTER],
        ]),
      },
      { path: join(home, 'sites'), mode: 0o711, users: new Map([[uid, READ_AND_ENTER]]) },
    ]
  }

  function siteTree(subscriptionId: number, siteId: number): Directory[] {
    const path = siteOf(layout, subscriptionId, siteId)
    const uid = uidOf(subscriptionId)
    const own = { uid, gid: uid, hasOwnMode: true }
    return [
      { path, mode: 0o711, users: new Map([[uid, READ_AND_ENTER]]) },
      { path: releasesOf(subscriptionId, siteId), mode: 0o711, users: new Map([[uid, READ_AND_ENTER]]) },
      { path: join(path, 'shared'), mode: 0o755, ...own },
      { path: join(path, 'tmp'), mode: 0o700, ...own },
      { path: join(path, 'sessions'), mode: 0o700, ...own },
    ]
  }

  /** @returns what was not as it had been left */
  function ensure(directories: Directory[]): string[] {
    const done = directories.map((directory) => ({ path: directory.path, what: ensureDirectory(directory) }))
    const isNew = done[0]?.what === 'made'
    return done.filter(({ what }) => what === 'mended' || (what === 'made' && !isNew)).map(({ path }) => path)
  }

  return {
    releasesOf,
    releaseOf: (subscriptionId: number, siteId: number, number: number) =>
      join(releasesOf(subscriptionId, siteId), `${number}`),

    ensureHome: (subscriptionId: number) => ensure(homeTree(subscriptionId)),
    ensureSite: (subscriptionId: number, siteId: number) => ensure(siteTree(subscriptionId, siteId)),

    /** Points `current` of a site to a release: where its customer finds it. */
    pointCurrent(subscriptionId: number, siteId: number, number: number): void {
      const link = join(siteOf(layout, subscriptionId, siteId), 'current')
      const target = join('releases', `${number}`)
      if (linkTarget(link) === target) return
      const made = join(layout.staging, `current-${siteId}`)
      rmSync(made, { force: true })
      symlinkSync(target, made)
      renameSync(made, link)
    },

    /** The ids of all sites that have a directory, with their subscriptions. */
    sites(): { subscriptionId: number; siteId: number }[] {
      const numbersIn = (path: string, pattern: RegExp) =>
        namesIn(path).flatMap((name) => {
          const [, number] = pattern.exec(name) ?? []
          return number === undefined ? [] : [Number(number)]
        })
      return numbersIn(layout.sites, /^ncp-s([1-9]\d*)$/).flatMap((subscriptionId) =>
        numbersIn(join(layout.sites, userOf(subscriptionId), 'sites'), /^([1-9]\d*)$/).map((siteId) => ({
          subscriptionId,
          siteId,
        })),
      )
    },
  }
}

/** @returns undefined for what is no link */
export function linkTarget(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined
}

/** @returns nothing for what is no directory */
export function namesIn(path: string): string[] {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(path) : []
}
