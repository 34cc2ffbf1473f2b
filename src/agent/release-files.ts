/** Releases on disk: made empty by root, given to their user, and unpacked as that user. */
import { chownSync, lstatSync, mkdirSync, renameSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { DesiredRelease } from '../node/protocol.ts'
import type { Place, ReleaseFiles } from '../node/releases.ts'
import { command, removeTree } from './command.ts'
import { uidOf } from './layout.ts'
import { namesIn, type Tree } from './tree.ts'

const UNFINISHED = '.unpacking-'
/** Finished or not. */
const RELEASE = /^(\.unpacking-)?\d+$/
const MODE = 0o755

export type AgentReleaseFiles = ReturnType<typeof createReleaseFiles>

/** @param download gives an archive as an open file that has been checked @throws Error ENOENT where the panel has it not */
export function createReleaseFiles(
  tree: Tree,
  download: (wanted: DesiredRelease, signal: AbortSignal) => Promise<FileHandle>,
) {
  return {
    openArchive: download,

    // It was never more than an open file.
    removeArchive: async () => undefined,

    async beginRelease({ subscriptionId, siteId }: Place, number: number): Promise<string> {
      const unfinished = join(tree.releasesOf(subscriptionId, siteId), `${UNFINISHED}${number}`)
      await removeTree(unfinished)
      mkdirSync(unfinished, { mode: MODE })
      chownSync(unfinished, uidOf(subscriptionId), uidOf(subscriptionId))
      return unfinished
    },

    abandonRelease: removeTree,

    isDirectory: async (path: string): Promise<boolean> => isDirectory(path),

    async finishRelease({ subscriptionId, siteId }: Place, number: number, unfinished: string): Promise<string> {
      const releases = tree.releasesOf(subscriptionId, siteId)
      const release = tree.releaseOf(subscriptionId, siteId, number)
      // All of the file system: no file of a customer is opened, which may be another thing by then.
      await command('sync', '--file-system', releases)
      // One that was unpacked and never reported is made anew.
      await removeTree(release)
      renameSync(unfinished, release)
      await command('sync', releases)
      return release
    },

    /** Removes all releases of a site but some, and what unfinished attempts have left. */
    async keepReleases({ subscriptionId, siteId }: Place, kept: ReadonlySet<string>): Promise<void> {
      const releases = tree.releasesOf(subscriptionId, siteId)
      const needless = namesIn(releases).filter((name) => RELEASE.test(name) && !kept.has(name.replace(UNFINISHED, '')))
      for (const name of needless) await removeTree(join(releases, basename(name)))
    },
  } satisfies ReleaseFiles & Record<string, unknown>
}

/** Links are not followed. */
export const isDirectory = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
