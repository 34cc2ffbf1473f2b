/** Maps a file into memory, where changes by other processes show. */
import { toArrayBuffer } from 'bun:ffi'
import { libc } from './libc.ts'

/** Of Linux, the same on x86-64 and arm64. */
const PROT_READ = 1
const MAP_SHARED = 1
const MAP_FAILED = -1

/**
 * Maps the beginning of an open file, for reading, until the process ends: a view of memory that is given back would
 * crash a reader that still uses it.
 *
 * @param descriptor may be closed afterwards
 * @param bytes no more than the file has; beyond its end the kernel would kill the process
 * @throws Error where the system cannot do it
 */
export function mapFile(descriptor: number, bytes: number): ArrayBuffer {
  const address = libc().mmap(null, bytes, PROT_READ, MAP_SHARED, descriptor, 0)
  if (address === null || Number(address) === MAP_FAILED) throw new Error(`descriptor ${descriptor} cannot be mapped`)
  return toArrayBuffer(address, 0, bytes)
}
