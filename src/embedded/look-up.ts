/** Finds a file below a directory without following a link, and keeps hold of the very file that was checked. */
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from 'node:fs'
import { codeOf } from '../core/error-code.ts'

/** `O_PATH` of Linux, which `node:fs` does not name. */
const O_PATH = 0o10000000
/** What the system says of a path that names nothing we could serve. */
const NOTHING = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES', 'EPERM', 'EINVAL'])

export type FoundFile = {
  /** Open for reading. The caller of `lookUp` closes it. */
  descriptor: number
  sizeBytes: number
  /** Strong: see `tagOf`. */
  etag: string
  /** Milliseconds since the epoch, in whole seconds. */
  lastModifiedMs: number
}

/**
 * Looks up a regular file. No component below the root may be a symbolic link: the kernel says where the opened file really
 * lies, and that must be the requested path. Nothing can be exchanged between the check and the reading, because both use the
 * same descriptor. A hard link is served: a deployment cannot create one, and a user who can may read that file anyway.
 *
 * @param root absolute, a real path
 * @param relative such as `css/site.css`; no `..`
 * @returns undefined if the path names nothing that can be served
 * @throws Error of the system, such as for too many open files
 */
export function lookUp(root: string, relative: string): FoundFile | 'directory' | undefined {
  return tolerant(() =>
    withPath(root, relative, (descriptor, stat) => {
      if (stat.isDirectory()) return 'directory'
      // It is opened only now: opening a pipe can block forever, and opening a device can have an effect.
      return stat.isFile() ? openForReading(descriptor) : undefined
    }),
  )
}

/** Looks up as `lookUp` does, but opens nothing. */
export function isDirectory(root: string, relative: string): boolean {
  return tolerant(() => withPath(root, relative, (_, stat) => stat.isDirectory())) ?? false
}

/**
 * Reads a part of a file.
 *
 * @returns fewer bytes if the file has become shorter
 */
export function readPart({ descriptor }: FoundFile, start: number, length: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const more = readSync(descriptor, bytes, read, length - read, start + read)
    if (more === 0) break
    read += more
  }
  return bytes.subarray(0, read)
}

/** A path that opens the file of a descriptor again, wherever that file is now. */
export const reopened = (descriptor: number) => `/proc/self/fd/${descriptor}`

/** @throws Error of the system */
function withPath<Result>(
  root: string,
  relative: string,
  use: (descriptor: number, stat: BigIntStats) => Result,
): Result | undefined {
  const path = relative === '' ? root : `${root}/${relative}`
  const descriptor = openSync(path, O_PATH | constants.O_NOFOLLOW)
  try {
    const real = readlinkSync(reopened(descriptor))
    // A file that was replaced at this moment is served as it was.
    if (real !== path && real !== `${path} (deleted)`) return undefined
    return use(descriptor, fstatSync(descriptor, { bigint: true }))
  } finally {
    closeSync(descriptor)
  }
}

function openForReading(path: number): FoundFile {
  const descriptor = openSync(reopened(path), constants.O_RDONLY)
  const stat = fstatSync(descriptor, { bigint: true })
  return {
    descriptor,
    sizeBytes: Number(stat.size),
    etag: tagOf(stat),
    lastModifiedMs: Math.floor(Number(stat.ctimeMs) / 1000) * 1000,
  }
}

/**
 * Strong, since files of a release are never written again: different content has a different inode or ctime. It does not use
 * mtime, which archives set, often to the same moment for every file and release. Hashed, so that it reveals no inode number.
 */
function tagOf({ dev, ino, size, ctimeNs }: BigIntStats): string {
  return `"${Bun.SHA256.hash(`${dev} ${ino} ${size} ${ctimeNs}`, 'hex').slice(0, 24)}"`
}

function tolerant<Result>(find: () => Result): Result | undefined {
  try {
    return find()
  } catch (error) {
    if (NOTHING.has(codeOf(error) ?? '')) return undefined
    throw error
  }
}
