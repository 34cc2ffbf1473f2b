/** SQLite's log as a file: read, verified frame by frame, and rewritten, as a failed sync may have lost any of it. */
import { readSync, writeSync } from 'node:fs'

/** https://www.sqlite.org/fileformat2.html#walformat */
const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** Bytes before the checksum in the log's header, and bytes of a frame's header that its checksum covers. */
const HEADER_SUMMED_BYTES = 24
const FRAME_SUMMED_BYTES = 8
const MAGIC = 0x377f0682
const PAGE_SIZE_AT = 8
const SALT_AT = 16
const FRAME_SALT_AT = 8
const FRAME_SUM_AT = 16

/**
 * Rewrites the log in place. After a failed sync, Linux considers its pages clean whether or not they reached the disk,
 * and the next sync succeeds without them. Once they are dirty again, a successful sync covers all of them.
 *
 * Nothing else may write to the log during this: hold the write lock.
 *
 * @param log a descriptor of the log, open for writing
 * @param frames how many of its frames are committed
 * @throws Error when the log no longer reads as it was written; errors of the system
 */
export function rewriteLog(log: number, frames: number): void {
  if (frames === 0) return
  const header = readWhole(log, Buffer.alloc(HEADER_BYTES))
  const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(PAGE_SIZE_AT)
  const bytes = readWhole(log, Buffer.alloc(HEADER_BYTES + frames * frameBytes))
  verify(bytes, frameBytes)
  for (let done = 0; done < bytes.length; ) done += writeSync(log, bytes, done, bytes.length - done, done)
}

/** Checksums continue from frame to frame: if the last is right, all are. */
function verify(log: Buffer, frameBytes: number): void {
  const magic = log.readUInt32BE(0)
  if ((magic & ~1) !== MAGIC) throw damaged(0)
  const isBigEndian = (magic & 1) === 1
  const salts = log.subarray(SALT_AT, SALT_AT + 8)
  let sum = checksum(log, 0, HEADER_SUMMED_BYTES, isBigEndian, [0, 0])
  if (!isAt(log, HEADER_SUMMED_BYTES, sum)) throw damaged(0)
  for (let at = HEADER_BYTES; at < log.length; at += frameBytes) {
    sum = checksum(log, at, FRAME_SUMMED_BYTES, isBigEndian, sum)
    sum = checksum(log, at + FRAME_HEADER_BYTES, frameBytes - FRAME_HEADER_BYTES, isBigEndian, sum)
    const hasOurSalts = log.subarray(at + FRAME_SALT_AT, at + FRAME_SUM_AT).equals(salts)
    if (!hasOurSalts || !isAt(log, at + FRAME_SUM_AT, sum)) throw damaged((at - HEADER_BYTES) / frameBytes + 1)
  }
}

type Sum = [number, number]

/** https://www.sqlite.org/fileformat2.html#checksum_algorithm */
function checksum(log: Buffer, start: number, length: number, isBigEndian: boolean, [first, second]: Sum): Sum {
  const view = new DataView(log.buffer, log.byteOffset)
  let a = first
  let b = second
  for (let at = start; at < start + length; at += 8) {
    a = (a + view.getUint32(at, !isBigEndian) + b) >>> 0
    b = (b + view.getUint32(at + 4, !isBigEndian) + a) >>> 0
  }
  return [a, b]
}

/** Stored big-endian, in whichever byte order the sums were computed. */
function isAt(log: Buffer, at: number, [first, second]: Sum): boolean {
  return log.readUInt32BE(at) === first && log.readUInt32BE(at + 4) === second
}

function damaged(frame: number): Error {
  return new Error(`the log no longer reads as it was written, from frame ${frame} on`)
}

function readWhole(file: number, into: Buffer): Buffer {
  for (let done = 0; done < into.length; ) {
    const read = readSync(file, into, done, into.length - done, done)
    if (read === 0) throw new Error('the log is shorter than it was')
    done += read
  }
  return into
}
