/** PHP's error logs of sites: a customer's code writes them, so they are moved away before they grow large, and deleted in time. */
import { closeSync, constants, fchmodSync, fchownSync, lstatSync, openSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { dayOf, listLogFiles, logFileName, MAX_PART_BYTES, pruneLogFiles } from '../site-logs/log-files.ts'
import { CURRENT_LOG } from '../site-logs/read-log.ts'
import { logsOf, type NodeLayout, uidOf } from './layout.ts'

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

export type SiteOnNode = { subscriptionId: number; siteId: number }

/** How often a log may be looked at: PHP writes no more than the disk takes in that time. */
export const PHP_LOGS_MS = 10_000

/**
 * @param now milliseconds since the epoch
 * @param days for which what is no longer written to is kept
 * @throws Error of the system
 */
export async function rotatePhpLog(
  layout: Pick<NodeLayout, 'logs'>,
  { subscriptionId, siteId }: SiteOnNode,
  { now, days }: { now: number; days: number },
): Promise<void> {
  const directory = logsOf(layout, subscriptionId, siteId)
  const path = join(directory, CURRENT_LOG.php)
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile() || stat.size === 0) return
  const day = dayOf(stat.mtimeMs)
  if (stat.size < MAX_PART_BYTES && day >= dayOf(now)) return
  const [newest] = (await listLogFiles(directory, 'php')).filter((file) => file.day === day)
  renameSync(path, join(directory, logFileName('php', day, newest ? newest.part + 1 : 0)))
  // The directory is root's: PHP could not make another.
  makeEmpty(path, uidOf(subscriptionId))
  await pruneLogFiles(directory, 'php', { now, days })
}

function makeEmpty(path: string, uid: number): void {
  const file = openSync(path, CREATE, 0o640)
  try {
    fchownSync(file, uid, uid)
    fchmodSync(file, 0o640)
  } finally {
    closeSync(file)
  }
}
