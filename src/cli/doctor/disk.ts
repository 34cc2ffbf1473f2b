/** Free space on the disks that the panel writes to. */
import { statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backupDirectory } from '../../backup/catalogue.ts'
import { dataNames } from '../../data-directory.ts'
import { FULL_BYTES, NEARLY_FULL_BYTES } from '../../system/disk-space.ts'
import { humanBytes } from '../units.ts'
import { type Finding, failed, ok, type Situation, warning } from './finding.ts'

/** What a backup leaves free. */
const BACKUP_RESERVE_BYTES = 64 * 1024 * 1024

export function checkDisk({ config }: Situation): Finding[] {
  const places = [
    { what: 'data', path: config.data, needed: 0 },
    { what: 'backups', path: backupDirectory(config), needed: databaseBytes(config.data) + BACKUP_RESERVE_BYTES },
    ...(config.logFile === undefined ? [] : [{ what: 'log', path: dirname(config.logFile), needed: 0 }]),
  ]
  return places.map(({ what, path, needed }) => look(what, existingParent(path), needed))
}

function look(what: string, path: string, needed: number): Finding {
  const { bavail, bsize, files, ffree } = statfsSync(path)
  const free = bavail * bsize
  const message = `${humanBytes(free)} free for the ${what} in ${path}`
  // Some file systems count no inodes.
  if (files > 0 && ffree === 0) return failed(`no inodes left for the ${what} in ${path}`, 'delete files there')
  if (free < FULL_BYTES) return failed(message, 'free some space: the panel refuses every change')
  if (free < needed)
    return warning(`${message}, but a backup needs ${humanBytes(needed)}`, 'free some space, or set backup_dir')
  if (free < NEARLY_FULL_BYTES) return warning(message, 'free some space')
  return ok(message)
}

function databaseBytes(data: string): number {
  return [dataNames.database, dataNames.databaseLog]
    .map((name) => statSync(join(data, name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size)
}

/** The directory, or the nearest parent that exists: the directory would be created on that disk. */
function existingParent(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? path : existingParent(join(path, '..'))
}
