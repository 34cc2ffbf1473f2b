/** The backups: whether they are as recent as the settings say, and complete. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Backup, backupDirectory, listBackups } from '../../backup/catalogue.ts'
import { dataPaths } from '../../data-directory.ts'
import { storedSetting } from '../../db/sqlite/newest.ts'
import { count, humanBytes, humanTime } from '../units.ts'
import { needsPanel } from './data-directory.ts'
import { type Finding, failed, ok, type Situation, warning } from './finding.ts'

const HOUR_MS = 3_600_000
const DEFAULT_INTERVAL_HOURS = 24

export function checkBackups({ config, clock }: Situation): Finding[] {
  const absent = needsPanel(config.data)
  if (absent) return absent
  const stored = storedSetting(dataPaths(config.data).database, 'backupIntervalHours')
  const interval = typeof stored === 'number' ? stored : DEFAULT_INTERVAL_HOURS
  const directory = backupDirectory(config)
  const newest = listBackups(directory).at(-1)
  if (!newest) {
    const why = interval === 0 ? 'scheduled backups are off' : 'a running panel creates the first one'
    return [warning(`there is no backup in ${directory}; ${why}`, "'ncp backup create' creates one now")]
  }
  const damage = incomplete(newest)
  if (damage !== undefined)
    return [failed(`the newest backup, ${newest.path}, ${damage}`, "'ncp backup create' creates another one")]
  const hours = Math.floor((clock.now() - newest.createdAt) / HOUR_MS)
  const message = `the newest is from ${humanTime(newest.createdAt)}, ${humanBytes(newest.bytes)}`
  if (interval > 0 && hours > 2 * interval) {
    return [
      warning(
        `${message}: ${count(hours, 'hour')} old, but one is due every ${count(interval, 'hour')}`,
        'check that the panel is running; its log says why a backup fails',
      ),
    ]
  }
  return [ok(message, "'ncp backup verify' checks all of it; keep copies on another machine")]
}

/** By the sizes alone: reading it takes as long as it is large. */
function incomplete({ path, manifest }: Backup): string | undefined {
  const wrong = manifest.files.find((file) => {
    return statSync(join(path, file.path), { throwIfNoEntry: false })?.size !== file.size
  })
  return wrong && `is damaged: ${wrong.path} is missing, or has another size`
}
