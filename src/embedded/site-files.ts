/** The directory of a site on disk: its releases, the link to the current one, and its way to the trash. */
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, readlink, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Awaitable } from '../core/awaitable.ts'
import { unlessMissing } from '../core/error-code.ts'
import { syncAside } from '../system/sync.ts'

const UNFINISHED = '.unpacking-'
/** Finished or not. */
const RELEASE = /^(\.unpacking-)?\d+$/
const PRIVATE = 0o700

export type SiteFiles = ReturnType<typeof createSiteFiles>

/**
 * @param paths.sites holds a directory for each site, named after its id
 * @param paths.trash on the same file system: a site goes there by one rename
 * @param paths.logs holds a directory for each site with an access log
 */
export function createSiteFiles(paths: { sites: string; archives: string; trash: string; logs: string }) {
  const siteDirectory = (siteId: number) => join(paths.sites, `${siteId}`)
  const releases = (siteId: number) => join(siteDirectory(siteId), 'releases')
  const release = (siteId: number, number: number) => join(releases(siteId), `${number}`)
  const current = (siteId: number) => join(siteDirectory(siteId), 'current')
  const archive = (deploymentId: number) => join(paths.archives, `${deploymentId}`)

  return {
    siteDirectory,
    releases,
    release,
    current,

    /** Opens the archive of a deployment, as the file itself and not by a link. @throws Error ENOENT where there is none */
    openArchive: ({ deploymentId }: { deploymentId: number }) =>
      open(archive(deploymentId), constants.O_RDONLY | constants.O_NOFOLLOW),

    removeArchive: (deploymentId: number) => rm(archive(deploymentId), { force: true }),

    /** An empty directory to unpack a release in. What an earlier attempt left is removed. */
    async beginRelease({ siteId }: { siteId: number }, number: number): Promise<string> {
      const unfinished = join(releases(siteId), `${UNFINISHED}${number}`)
      await rm(unfinished, { recursive: true, force: true })
      await mkdir(unfinished, { recursive: true, mode: PRIVATE })
      return unfinished
    },

    abandonRelease: (unfinished: string) => rm(unfinished, { recursive: true, force: true }),

    /** Gives a release its name, once all of it is on the disk. @returns where it is then */
    async finishRelease({ siteId }: { siteId: number }, number: number, unfinished: string): Promise<string> {
      await syncAll(unfinished)
      // One that was unpacked and never reported is made anew.
      await rm(release(siteId, number), { recursive: true, force: true })
      await rename(unfinished, release(siteId, number))
      // The site's directory may be new too.
      for (const path of [releases(siteId), siteDirectory(siteId), paths.sites]) await syncPath(path)
      return release(siteId, number)
    },

    /** Points `current` to a release by one rename. @returns whether it pointed elsewhere */
    async point(siteId: number, number: number): Promise<boolean> {
      const target = join('releases', `${number}`)
      if ((await unlessMissing(readlink(current(siteId)))) === target) return false
      const made = join(siteDirectory(siteId), '.current')
      await rm(made, { force: true })
      await symlink(target, made)
      await rename(made, current(siteId))
      return true
    },

    isDirectory: async (path: string): Promise<boolean> => (await unlessMissing(lstat(path)))?.isDirectory() ?? false,

    /**
     * Removes all releases but some, and what unfinished attempts have left.
     *
     * @param durable awaited before anything is removed
     */
    async keepReleases(siteId: number, kept: ReadonlySet<string>, durable: () => Awaitable<void>): Promise<void> {
      const names = (await unlessMissing(readdir(releases(siteId)))) ?? []
      const needless = names.filter((name) => RELEASE.test(name) && !kept.has(name.replace(UNFINISHED, '')))
      if (needless.length > 0) await durable()
      for (const name of needless) await rm(join(releases(siteId), name), { recursive: true, force: true })
    },

    /** Removes the logs of a site, and moves all of it to the trash by one rename. @param at milliseconds since the epoch */
    async discard(subscriptionId: number, siteId: number, at: number): Promise<void> {
      await rm(join(paths.logs, `${siteId}`), { recursive: true, force: true })
      await mkdir(paths.trash, { recursive: true, mode: PRIVATE })
      const name = `${subscriptionId}-${siteId}-${at}`
      await unlessMissing(rename(siteDirectory(siteId), join(paths.trash, name)))
    },

    /** Removes what has been in the trash since before a time. */
    async emptyTrash(before: number, stopping: AbortSignal): Promise<void> {
      for (const name of (await unlessMissing(readdir(paths.trash))) ?? []) {
        const [, discardedAt] = /^\d+-\d+-(\d+)$/.exec(name) ?? []
        if (stopping.aborted) return
        if (discardedAt === undefined || Number(discardedAt) >= before) continue
        await rm(join(paths.trash, name), { recursive: true, force: true })
      }
    },

    /** The ids of the sites that have a directory. */
    async siteIds(): Promise<number[]> {
      const names = (await unlessMissing(readdir(paths.sites))) ?? []
      return names.filter((name) => /^[1-9]\d*$/.test(name)).map(Number)
    },
  }
}

/** A power cut after a release is reported must not leave files empty that seemed to be written. */
async function syncAll(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) await syncAll(path)
    else if (entry.isFile()) await syncPath(path)
  }
  await syncPath(directory)
}

const syncPath = (path: string) => syncAside(path, constants.O_RDONLY | constants.O_NOFOLLOW)
