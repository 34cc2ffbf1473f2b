/** The data directory: there, and for its owner alone. */
import { lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { loadSecret } from '../../crypto/secret.ts'
import { dataNames, dataPaths, secretNames } from '../../data-directory.ts'
import { readRestoreMark } from '../../db/sqlite/data-lock.ts'
import { type Finding, failed, ok, orOk, type Situation, warning } from './finding.ts'

/** Besides the files in `tls`, and the database with all that begins with its name: SQLite's companions, and copies of it. */
const PRIVATE: string[] = [...secretNames, dataNames.initialAdminPassword, dataNames.demo]
/** What stops the start: see `system/private-file.ts`. A group may read, such as that of the backups. */
const BEYOND_READING_GROUP = 0o027
const FOR_OTHERS = 0o077
const WRITABLE_FOR_OTHERS = 0o002

/** Whether a panel was ever started on it. */
export function holdsPanel(data: string): boolean {
  return statSync(dataPaths(data).database, { throwIfNoEntry: false })?.isFile() === true
}

export function checkDataDirectory({ config: { data } }: Situation): Finding[] {
  const directory = statSync(data, { throwIfNoEntry: false })
  if (!directory)
    return [warning(`${data} is not there yet`, "'ncp serve' makes it; if there is a panel, name its --data")]
  if (!directory.isDirectory()) return [failed(`${data} is not a directory`, 'name the data directory with --data')]
  const problems = [...directoryProblems(data, directory)]
  const unfinished = readRestoreMark(data)
  if (unfinished) {
    problems.push(failed(`a restore of ${unfinished.backup} was interrupted`, "run 'ncp backup restore' again"))
  }
  for (const path of privateFiles(data)) problems.push(...fileProblems(path, directory))
  if (holdsPanel(data)) problems.push(...secretNames.flatMap((name) => secretProblems(join(data, name))))
  return orOk(problems, `${data} and the files in it are their owner's alone`)
}

function directoryProblems(data: string, { mode, uid }: Stats): Finding[] {
  const next = `chmod 700 ${data}`
  const self = process.getuid?.()
  if (self !== undefined && self !== 0 && self !== uid) {
    return [failed(`${data} belongs to user ${uid}, and this runs as user ${self}`, 'run it as that user, or as root')]
  }
  if ((mode & WRITABLE_FOR_OTHERS) !== 0)
    return [failed(`every user of this machine can write to ${data} (mode ${octal(mode)})`, next)]
  if ((mode & FOR_OTHERS) !== 0) return [warning(`others can get at ${data} (mode ${octal(mode)})`, next)]
  return []
}

function privateFiles(data: string): string[] {
  const { tls } = dataPaths(data)
  const own = readdirSync(data).filter((name) => PRIVATE.includes(name) || name.startsWith(dataNames.database))
  const certificates = statSync(tls, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(tls) : []
  return [...own.map((name) => join(data, name)), ...certificates.map((name) => join(tls, name))]
}

function fileProblems(path: string, directory: Stats): Finding[] {
  const file = lstatSync(path, { throwIfNoEntry: false })
  // SQLite removes its files when the last one closes the database.
  if (!file) return []
  if (!file.isFile()) return [failed(`${path} is not a regular file`, 'put the file itself there, not a link to it')]
  if (file.uid !== directory.uid) {
    return [
      failed(
        `${path} belongs to user ${file.uid}, not to the owner of the directory`,
        `chown ${directory.uid}: ${path}`,
      ),
    ]
  }
  if ((file.mode & BEYOND_READING_GROUP) === 0) return []
  return [
    failed(
      `others can get at ${path} (mode ${octal(file.mode)})`,
      `chmod 600 ${path}; if they may have read it, see the page on rescue`,
    ),
  ]
}

function secretProblems(path: string): Finding[] {
  // Said before; and reading a pipe would never end.
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === false) return []
  try {
    loadSecret(path, { create: false })
    return []
  } catch (error) {
    return [failed((error as Error).message, "take it from a backup: 'ncp backup restore'")]
  }
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0')
}

/** For the checks that need a panel's files. */
export function needsPanel(data: string): Finding[] | undefined {
  return holdsPanel(data) ? undefined : [ok('there is no panel yet')]
}
