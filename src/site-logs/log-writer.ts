/** Appends lines to the logs of sites, in files that stay small. */
import { constants } from 'node:fs'
import { chown, type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../core/error-code.ts'
import type { LogKind } from '../node/protocol.ts'
import { dayOf, type LogFile, listLogFiles, logFileName, MAX_PART_BYTES, pruneLogFiles } from './log-files.ts'

/** An existing link is not followed, so that nothing is written elsewhere. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

export type LogPlace = {
  /** Absolute; made where it is missing. Only its owner may be able to write to it and to what is above it. */
  directory: string
  /** The group that may read it; undefined for nobody. */
  gid?: number
}

export type LogWriterOptions = {
  /** Undefined for a site that is not here. */
  placeOf(siteId: number): LogPlace | undefined
  /** How long files are kept. */
  days(): number
}

export type LogWriter = ReturnType<typeof createLogWriter>

export function createLogWriter({ placeOf, days }: LogWriterOptions) {
  /** By site and kind, the file that is written to. */
  const current = new Map<string, Pick<LogFile, 'day' | 'part' | 'bytes'>>()

  async function newestOf(directory: string, kind: LogKind, day: string) {
    const [newest] = await listLogFiles(directory, kind)
    return newest?.day === day ? newest : { day, part: 0, bytes: 0 }
  }

  async function nextIn(directory: string, siteId: number, kind: LogKind, at: number) {
    const day = dayOf(at)
    const known = current.get(`${siteId} ${kind}`)
    const file = known?.day === day ? known : await newestOf(directory, kind, day)
    return file.bytes >= MAX_PART_BYTES ? { day, part: file.part + 1, bytes: 0 } : file
  }

  return {
    /** @returns the file to which lines of this time would be appended; undefined for a site that is not here */
    async fileFor(siteId: number, kind: LogKind, at: number): Promise<string | undefined> {
      const place = placeOf(siteId)
      if (!place) return undefined
      const { day, part } = await nextIn(place.directory, siteId, kind, at)
      return join(place.directory, logFileName(kind, day, part))
    },

    /**
     * @param text whole lines
     * @param at milliseconds since the epoch
     * @throws Error of the system
     */
    async append(siteId: number, kind: LogKind, text: string, at: number): Promise<void> {
      const place = placeOf(siteId)
      if (!place) return
      const file = await nextIn(place.directory, siteId, kind, at)
      const { day } = file
      if (file.bytes === 0) await pruneLogFiles(place.directory, kind, { now: at, days: days() })
      await using handle = await openIn(place, logFileName(kind, day, file.part))
      if (file.bytes === 0 && place.gid !== undefined) await handle.chown(0, place.gid)
      await handle.appendFile(text)
      current.set(`${siteId} ${kind}`, { day, part: file.part, bytes: file.bytes + Buffer.byteLength(text) })
    },
  }
}

async function openIn({ directory, gid }: LogPlace, name: string): Promise<FileHandle> {
  const mode = gid === undefined ? 0o600 : 0o640
  const path = join(directory, name)
  try {
    return await open(path, APPEND, mode)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    await mkdir(directory, { recursive: true, mode: gid === undefined ? 0o700 : 0o750 })
    if (gid !== undefined) await chown(directory, 0, gid)
    return open(path, APPEND, mode)
  }
}
