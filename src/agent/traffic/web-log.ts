/** Reads the web server's access log as it grows, and gives it a new file before one grows large. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, renameSync, rmSync } from 'node:fs'
import type { Clock } from '../../core/clock.ts'

/** How far a file was read. */
export type Place = {
  device: number
  inode: number
  offset: number
  /** When it was first seen, in milliseconds since the epoch. */
  since: number
}

export type Chunk = {
  /** Where it begins. */
  place: Place
  /** Whole lines. */
  text: string
  /** After them. */
  end: number
}

export type WebLogOptions = {
  path: string
  /** Up to where files were read before. */
  places: readonly Place[]
  /** Lets the web server go on in a new file under the same name. @returns whether it runs */
  reopen(): boolean
  /** Told of how many bytes are passed over. */
  onSkipped(bytes: number): void
  clock: Clock
  maxBacklogBytes?: number
}

export type WebLog = ReturnType<typeof createWebLog>

const MEBIBYTE = 1024 * 1024
/** Some 7,000 lines, split in some 25 ms. The longest line is shorter: a request has at most 64 KiB of head. */
export const CHUNK_BYTES = 2 * MEBIBYTE
/** Then another file is begun. */
export const MAX_FILE_BYTES = 64 * MEBIBYTE
/** Addresses in it are whole, whatever the operator says of the logs of sites. */
const MAX_FILE_MS = 60 * 60 * 1000
/** What an agent that was away for long reads of a file: the newest lines. */
const MAX_BACKLOG_BYTES = 1024 * MEBIBYTE
/** Every process of the web server writes to the new file by then. */
export const QUIET_MS = 10_000

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const LINE_BREAK = 0x0a

export const previousOf = (path: string): string => `${path}.1`

export function createWebLog(options: WebLogOptions) {
  const { path, places, reopen, onSkipped, clock, maxBacklogBytes = MAX_BACKLOG_BYTES } = options
  const previous = previousOf(path)
  let known: Place[] = [...places]
  /** Of the file before the current one: its size when it was looked at last, and since when it has that. */
  let quiet: { inode: number; bytes: number; sinceMs: number } | undefined

  /** @returns undefined where there is no file */
  function look(file: string): { place: Place; bytes: number } | undefined {
    const stat = lstatSync(file, { throwIfNoEntry: false })
    if (!stat?.isFile()) return undefined
    const { dev: device, ino: inode, size: bytes } = stat
    const place = known.find((one) => one.device === device && one.inode === inode) ?? {
      device,
      inode,
      offset: 0,
      since: clock.now(),
    }
    if (place.offset > bytes) place.offset = 0
    return { place, bytes }
  }

  function readFrom(file: string, place: Place): Chunk | undefined {
    const descriptor = openSync(file, READ)
    try {
      const { ino, size } = fstatSync(descriptor)
      if (ino !== place.inode) return undefined
      const skipped = size - maxBacklogBytes - place.offset
      if (skipped > 0) {
        // The rest of a line that is cut here is unreadable.
        onSkipped(skipped)
        place.offset += skipped
      }
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - place.offset))
      const bytes = buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, place.offset))
      const length = bytes.lastIndexOf(LINE_BREAK) + 1
      if (length > 0) {
        return { place, text: bytes.subarray(0, length).toString('utf8'), end: place.offset + length }
      }
      // Longer than any line can be.
      return bytes.length === CHUNK_BYTES ? { place, text: '', end: place.offset + CHUNK_BYTES } : undefined
    } finally {
      closeSync(descriptor)
    }
  }

  /** Nobody writes to it any longer, as far as can be seen. */
  function isQuiet({ place: { inode }, bytes }: { place: Place; bytes: number }): boolean {
    if (quiet?.inode !== inode || quiet.bytes !== bytes) quiet = { inode, bytes, sinceMs: clock.elapsedMs() }
    return clock.elapsedMs() - quiet.sinceMs >= QUIET_MS
  }

  return {
    /** Up to where the files were read, those that are gone left out. */
    places: (): readonly Place[] => known,

    /** @returns the next lines, which are given again until their place is moved behind them; undefined where there are none yet */
    next(): Chunk | undefined {
      const found = [previous, path].flatMap((file) => {
        const seen = look(file)
        return seen ? [{ file, ...seen }] : []
      })
      known = found.map(({ place }) => place)
      for (const { file, place, bytes } of found) {
        const chunk = bytes > place.offset ? readFrom(file, place) : undefined
        if (chunk) return chunk
      }
      return undefined
    },

    /** For when everything is read: begins another file where it is time, and removes the one before. */
    tend(): void {
      const [before, current] = [look(previous), look(path)]
      // Killed between the new name and the signal, an agent leaves no current file.
      if (!current) {
        if (before) reopen()
        return
      }
      if (before) {
        if (isQuiet(before)) rmSync(previous)
        return
      }
      const { place, bytes } = current
      const isDue = bytes >= MAX_FILE_BYTES || clock.now() - place.since >= MAX_FILE_MS
      if (bytes === 0 || !isDue) return
      renameSync(path, previous)
      reopen()
    },
  }
}
