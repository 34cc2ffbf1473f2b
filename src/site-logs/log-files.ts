/** The files of a site's logs: one a day for each kind, in parts, deleted when they are old or take too much space. */
import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '../core/error-code.ts'
import type { LogKind } from '../node/protocol.ts'

export type LogFile = {
  path: string
  /** In UTC, such as 2026-12-03. */
  day: string
  /** Counts the files of a day, from 0. */
  part: number
  bytes: number
}

/** After which the next part of a day begins. */
export const MAX_PART_BYTES = 8 * 1024 * 1024
/** Of one kind and site; the oldest files go first. */
export const MAX_TOTAL_BYTES = 64 * 1024 * 1024

const NAME = /^(access|error|php)-(\d{4}-\d{2}-\d{2})(?:\.(\d{1,6}))?\.log$/
const DAY_MS = 24 * 60 * 60 * 1000

/** @param at milliseconds since the epoch. @returns the day in UTC */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

export const logFileName = (kind: LogKind, day: string, part: number): string =>
  `${kind}-${day}${part === 0 ? '' : `.${part}`}.log`

/** The files of one kind, the newest first; none where there is no directory. Links and anything else are passed over. */
export async function listLogFiles(directory: string, kind: LogKind): Promise<LogFile[]> {
  const found: LogFile[] = []
  for (const name of (await unlessMissing(readdir(directory))) ?? []) {
    const [, of, day, part = '0'] = NAME.exec(name) ?? []
    if (of !== kind || day === undefined) continue
    const path = join(directory, name)
    const stat = await unlessMissing(lstat(path))
    if (stat?.isFile()) found.push({ path, day, part: Number(part), bytes: stat.size })
  }
  return found.sort((one, other) => other.day.localeCompare(one.day) || other.part - one.part)
}

/**
 * Deletes the files that are older than `days`, and the oldest of those that take too much space together. The newest stays.
 *
 * @param now milliseconds since the epoch
 */
export async function pruneLogFiles(
  directory: string,
  kind: LogKind,
  { now, days }: { now: number; days: number },
): Promise<void> {
  const oldest = dayOf(now - (days - 1) * DAY_MS)
  let bytes = 0
  for (const [position, file] of (await listLogFiles(directory, kind)).entries()) {
    bytes += file.bytes
    if (file.day < oldest || (position > 0 && bytes > MAX_TOTAL_BYTES - MAX_PART_BYTES)) {
      await rm(file.path, { force: true })
    }
  }
}
