/** The data directory: whether it exists, and whether only its owner can read and write it. */
import { accessSync, constants, lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../core/error-code.ts'
import { loadSecret } from '../../crypto/secret.ts'
import { dataNames, dataPaths, secretNames } from '../../data-directory.ts'
import { readRestoreMark } from '../../db/sqlite/data-lock.ts'
import { isKeyExposed, isWritableByAll, octal } from '../../system/private-file.ts'
import { type Finding, failed, ok, orOk, type Situation, warning } from './finding.ts'

/** Besides the files in `tls`, and the database with all that begins with its name: SQLite's companions, and copies of it. */
const PRIVATE: string[] = [...secretNames, dataNames.initialAdminPassword, dataNames.demo]
const FOR_OTHERS = 0o077

/** @returns what is wrong where this user may not look into the directory, which would fail every check that reads it */
export function inaccessible(data: string): Finding | undefined {
  try {
    if (!statSync(data, { throwIfNoEntry: false })?.isDirectory()) return undefined
    accessSync(data, constants.R_OK | constants.X_OK)
    return undefined
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes(codeOf(error) ?? '')) throw error
    return failed(
      `user ${process.getuid?.()} may not read ${data}, so nothing in it was checked`,
      'run this as the owner of the directory, or as root',
    )
  }
}

/** Whether a panel was ever started on it. */
export function holdsPanel(data: string): boolean {
  return statSync(dataPaths(data).database, { throwIfNoEntry: false })?.isFile() === true
}

export function checkDataDirectory({ config: { data } }: Situation): Finding[] {
  const directory = statSync(data, { throwIfNoEntry: false })
  if (!directory)
    return [
      warning(
        `${data} does not exist yet`,
        "'ncp serve' creates it; if the panel has another directory, name it with --data",
      ),
    ]
  if (!directory.isDirectory()) return [failed(`${data} is not a directory`, 'name the data directory with --data')]
  const problems = [...directoryProblems(data, directory)]
  const unfinished = readRestoreMark(data)
  if (unfinished) {
    problems.push(failed(`a restore of ${unfinished.backup} was interrupted`, "run 'ncp backup restore' again"))
  }
  for (const path of privateFiles(data)) problems.push(...fileProblems(path, directory))
  if (holdsPanel(data)) problems.push(...secretNames.flatMap((name) => secretProblems(join(data, name))))
  return orOk(problems, `only their owner can read and write ${data} and its files`)
}

function directoryProblems(data: string, { mode, uid }: Stats): Finding[] {
  const next = `chmod 700 ${data}`
  const self = process.getuid?.()
  if (self !== undefined && self !== 0 && self !== uid) {
    return [
      failed(`${data} belongs to user ${uid}, but this runs as user ${self}`, 'run this as that user, or as root'),
    ]
  }
  if (isWritableByAll(mode))
    return [failed(`every user of this machine can write to ${data} (mode ${octal(mode)})`, next)]
  if ((mode & FOR_OTHERS) !== 0) return [warning(`other users can access ${data} (mode ${octal(mode)})`, next)]
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
  if (!file.isFile())
    return [failed(`${path} is not a regular file`, 'replace it with a regular file; a link is not allowed')]
  if (file.uid !== directory.uid) {
    return [
      failed(
        `${path} belongs to user ${file.uid}, not to the owner of the directory`,
        `chown ${directory.uid}: ${path}`,
      ),
    ]
  }
  if (!isKeyExposed(file.mode)) return []
  return [
    failed(
      `other users can access ${path} (mode ${octal(file.mode)})`,
      `chmod 600 ${path}; if someone may have read it, see docs/operations/rescue.md`,
    ),
  ]
}

function secretProblems(path: string): Finding[] {
  // Reported by the check of its mode.
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === false) return []
  try {
    loadSecret(path, { create: false })
    return []
  } catch (error) {
    return [failed((error as Error).message, "restore it from a backup: 'ncp backup restore'")]
  }
}

/** For the checks that need a panel's files. */
export function needsPanel(data: string): Finding[] | undefined {
  return holdsPanel(data) ? undefined : [ok('there is no panel yet')]
}
