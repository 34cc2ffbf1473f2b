/** Directories with their owner, mode and access control list. All lie in directories that only root can change. */
import { chmodSync, chownSync, lstatSync, mkdirSync } from 'node:fs'
import { hasAcl, setAcl } from '../system/acl.ts'

export type Directory = {
  path: string
  mode: number
  /** Root where absent. */
  uid?: number
  gid?: number
  /** Who else may, beside owner and group. */
  users?: ReadonlyMap<number, number>
  /** Its owner may change the mode. */
  hasOwnMode?: boolean
}

const NOBODY_ELSE = 0o700

/**
 * Makes a directory what it should be.
 *
 * @returns `made` where it was missing, `mended` where it was not as it should be, undefined where it was
 * @throws Error where something else has its name
 */
export function ensureDirectory(directory: Directory): 'made' | 'mended' | undefined {
  const { path, mode, uid = 0, gid = 0, users, hasOwnMode = false } = directory
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found && !found.isDirectory()) throw new Error(`${path} is no directory`)
  if (!found) mkdirSync(path, { mode: NOBODY_ELSE })
  const hasOwner = found?.uid === uid && found.gid === gid
  const hasAccess = users ? hasAcl(path, { mode, users }) : (found?.mode ?? 0) % 0o10000 === mode
  // The owner comes last: after a kill before that, the mode is not taken for one that its owner has chosen.
  const changesAccess = !found || (!hasAccess && !(hasOwnMode && hasOwner))
  if (changesAccess && users) setAcl(path, { mode, users })
  else if (changesAccess) chmodSync(path, mode)
  if (!hasOwner) chownSync(path, uid, gid)
  if (!found) return 'made'
  return hasOwner && !changesAccess ? undefined : 'mended'
}
