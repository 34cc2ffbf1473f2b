/** POSIX access control lists: who else may enter a directory, beside its owner and its group. acl(5) */
import { libc } from './libc.ts'

const NAME = cString('system.posix_acl_access')
/** Of the form in which the kernel keeps a list. */
const VERSION = 2
const tag = { owner: 0x01, user: 0x02, group: 0x04, mask: 0x10, other: 0x20 } as const
/** Of an entry that names nobody. */
const NOBODY = 0xffffffff
const ENTRY_BYTES = 8
const MAX_BYTES = 4 + 64 * ENTRY_BYTES

export type Acl = {
  /** As without a list, such as 0o710. */
  mode: number
  /** Bits as of a mode, by user: 4 to read, 1 to enter. */
  users: ReadonlyMap<number, number>
}

/** Whether a file has exactly this list. A link is not followed. */
export function hasAcl(path: string, acl: Acl): boolean {
  const found = Buffer.alloc(MAX_BYTES)
  const length = libc().lgetxattr(cString(path), NAME, found, MAX_BYTES)
  const wanted = encode(acl)
  return length === wanted.length && found.subarray(0, length).equals(wanted)
}

/** Sets the mode too. A link is not followed. @throws Error where the file system has no lists, or this is not allowed */
export function setAcl(path: string, acl: Acl): void {
  const list = encode(acl)
  if (libc().lsetxattr(cString(path), NAME, list, list.length, 0) === 0) return
  throw new Error(`the access control list of ${path} could not be set: the file system must support them`)
}

function encode({ mode, users }: Acl): Buffer {
  const sorted = [...users].sort(([one], [other]) => one - other)
  const group = (mode >> 3) & 7
  const entries: [number, number, number][] = [
    [tag.owner, (mode >> 6) & 7, NOBODY],
    ...sorted.map(([uid, access]): [number, number, number] => [tag.user, access, uid]),
    [tag.group, group, NOBODY],
    // The most that the group and the named users get.
    [tag.mask, sorted.reduce((most, [, access]) => most | access, group), NOBODY],
    [tag.other, mode & 7, NOBODY],
  ]
  const list = Buffer.alloc(4 + entries.length * ENTRY_BYTES)
  list.writeUInt32LE(VERSION)
  for (const [index, [of, access, id]] of entries.entries()) {
    const at = 4 + index * ENTRY_BYTES
    list.writeUInt16LE(of, at)
    list.writeUInt16LE(access, at + 2)
    list.writeUInt32LE(id, at + 4)
  }
  return list
}

function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`)
}
