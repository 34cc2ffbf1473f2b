/** Whether other users of this machine can read or change a file that holds a secret. */
import { realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const OTHERS_READ_OR_WRITE = 0o006
const OTHERS_ENTER = 0o001
/** Where containers get their secrets, readable by every user inside: there is none but the panel. */
const CONTAINER_SECRETS = '/run/secrets/'
/** Whether a key has more permissions than it may: a group may read it, such as the one that makes backups. */
export function isKeyExposed(mode: number): boolean {
  return (mode & 0o027) !== 0
}

/** Whether every user can write to a directory, and so replace the database in it. */
export function isWritableByAll(mode: number): boolean {
  return (mode & 0o002) !== 0
}

/**
 * A key that the panel makes, always with mode 0600: another mode was set later.
 *
 * @throws Error with the command that mends it
 */
export function requireOwnKey(path: string): void {
  const mode = modeOf(path)
  if (mode !== undefined && isKeyExposed(mode)) throw openToOthers(path, mode, '600')
}

/**
 * A secret that the operator keeps anywhere. In a directory that others cannot enter, its own mode does not matter.
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
  if (mode === undefined || !isWritableByAll(mode)) return
  throw new Error(
    `every user of this machine can write to ${path} (mode ${octal(mode)}) and could replace the database: run 'chmod o-w ${path}'`,
  )
}

function openToOthers(path: string, mode: number, change: string): Error {
  return new Error(
    `${path} is open to other users of this machine (mode ${octal(mode)}): run 'chmod ${change} ${path}', and replace the secret if someone may have read it`,
  )
}

/** @returns undefined where there is no such file; reading it reports that */
function modeOf(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && found.mode & 0o7777
}

/** A file's mode as `chmod` takes it: `0644`. */
export const octal = (mode: number) => (mode & 0o7777).toString(8).padStart(4, '0')
