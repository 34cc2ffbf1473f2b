/** Whether other users of the machine can get at a file that is nobody else's business. */
import { realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const OTHERS_READ_OR_WRITE = 0o006
const OTHERS_ENTER = 0o001
const OTHERS_WRITE = 0o002
/** Where containers get their secrets, open to every user in there: there are no others than the panel. */
const CONTAINER_SECRETS = '/run/secrets/'
/** A group may read, such as the one that makes the backups. */
const BEYOND_OWNER_AND_READING_GROUP = 0o027

/**
 * A key that the panel makes, always with mode 0600: another one was given to it since.
 *
 * @throws Error with the command that mends it
 */
export function requireOwnKey(path: string): void {
  const mode = modeOf(path)
  if (mode !== undefined && (mode & BEYOND_OWNER_AND_READING_GROUP) !== 0) throw openToOthers(path, mode, '600')
}

/**
 * A secret that the operator keeps anywhere. Its own mode says nothing where nobody can get to it: in a directory that others
 * cannot enter.
 *
 * @throws Error with the command that mends it
 */
export function requirePrivate(path: string): void {
  const mode = modeOf(path)
  if (mode === undefined || (mode & OTHERS_READ_OR_WRITE) === 0 || path.startsWith(CONTAINER_SECRETS)) return
  for (let directory = dirname(realpathSync(path)); ; directory = dirname(directory)) {
    if (((modeOf(directory) ?? 0) & OTHERS_ENTER) === 0) return
    if (directory === dirname(directory)) break
  }
  throw openToOthers(path, mode, 'o-rw')
}

/** @throws Error with the command that mends it */
export function requireOwnDirectory(path: string): void {
  const mode = modeOf(path)
  if (mode === undefined || (mode & OTHERS_WRITE) === 0) return
  throw new Error(
    `every user of this machine can write to ${path} (mode ${octal(mode)}) and could replace the database: run 'chmod o-w ${path}'`,
  )
}

function openToOthers(path: string, mode: number, change: string): Error {
  return new Error(
    `${path} is open to other users of this machine (mode ${octal(mode)}): run 'chmod ${change} ${path}', and replace the secret if someone may have read it`,
  )
}

/** @returns undefined where there is no such file; that is told by reading it */
function modeOf(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && found.mode & 0o7777
}

const octal = (mode: number) => mode.toString(8).padStart(4, '0')
