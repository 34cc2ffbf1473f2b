/** The last lines of a site's log, and those that come after them. */
import { pause } from '../core/pause.ts'
import type { Panel } from './panel.ts'
import type { Site } from './sites.ts'

export type LogLine = {
  time: string | null
  text: string
  request: { client: string; method: string; uri: string; status: number; bytes: number } | null
}

export type LogOptions = { kind: string; lines: number; search: string | undefined }

/** A read each two seconds is a quarter of what a user may ask in a minute. */
const PAUSE_MS = 2000
/** The most that the panel gives at a time. */
const MOST_LINES = 1000

/** @throws ClientFailure */
export async function readLog(panel: Panel, site: Site, { kind, lines, search }: LogOptions): Promise<LogLine[]> {
  const query = new URLSearchParams({ kind, lines: `${lines}`, ...(search && { search }) })
  return (await panel.ask<LogLine[]>(`/sites/${site.id}/logs?${query}`)).data
}

/** Each time that there are new lines, those. @throws ClientFailure */
export async function* followLog(
  panel: Panel,
  site: Site,
  options: LogOptions,
  signal: AbortSignal,
): AsyncGenerator<LogLine[]> {
  let known = await readLog(panel, site, { ...options, lines: MOST_LINES })
  yield known.slice(-options.lines)
  for (;;) {
    await pause(PAUSE_MS, signal)
    if (signal.aborted) return
    const read = await readLog(panel, site, { ...options, lines: MOST_LINES })
    const fresh = newLines(known, read)
    if (fresh.length > 0) yield fresh
    known = read
  }
}

/** What the second of two reads has after the end of the first; all of it where they have nothing in common. */
export function newLines(known: readonly LogLine[], read: readonly LogLine[]): LogLine[] {
  const [before, now] = [known, read].map((lines) => lines.map((line) => JSON.stringify(line)))
  if (!before || !now) return []
  for (let gone = 0; gone < before.length; gone++) {
    const shared = before.length - gone
    if (shared > now.length) continue
    if (before.slice(gone).every((line, at) => line === now[at])) return read.slice(shared)
  }
  return [...read]
}
