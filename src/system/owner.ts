/** Lets root become the owner of a data directory, so that the service can read what is written there. */
import { statSync } from 'node:fs'

/**
 * For the rest of the process. Does nothing unless the process is root's, and where `directory` is root's or not there.
 *
 * @throws Error of the system when root may not
 */
export function becomeOwnerOf(directory: string): void {
  if (process.getuid?.() !== 0) return
  const owner = statSync(directory, { throwIfNoEntry: false })
  if (!owner || owner.uid === 0) return
  // The user last: after that nothing else can be changed.
  process.setgroups?.([owner.gid])
  process.setgid?.(owner.gid)
  process.setuid?.(owner.uid)
}
