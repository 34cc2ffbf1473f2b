/** A request in the access log of a site, and the line of JSON that it becomes. */
import { formatTimestamp } from '../core/timestamp.ts'

export type AccessEntry = {
  /** Milliseconds since the epoch. */
  at: number
  /** The address that the request came from. */
  client: string
  scheme: 'http' | 'https'
  host: string
  method: string
  /** Path and query, as they were asked for. */
  uri: string
  status: number
  bytes: number
  durationMs: number
  referer: string
  userAgent: string
}

/** A client may send kilobytes in each of these. */
const MAX_LENGTHS = { uri: 2048, referer: 1024, userAgent: 512 } as const

/** Never has a line break in it, whatever the client sent. There is no field for credentials and cookies. */
export function writeEntry(entry: AccessEntry): string {
  return JSON.stringify({
    time: formatTimestamp(entry.at),
    client: entry.client,
    scheme: entry.scheme,
    host: entry.host,
    method: entry.method,
    uri: entry.uri.slice(0, MAX_LENGTHS.uri),
    status: entry.status,
    bytes: entry.bytes,
    duration_ms: Math.round(entry.durationMs),
    referer: entry.referer.slice(0, MAX_LENGTHS.referer),
    user_agent: entry.userAgent.slice(0, MAX_LENGTHS.userAgent),
  })
}
