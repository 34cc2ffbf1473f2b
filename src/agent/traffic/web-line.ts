/** A line of the web server's access log, which strangers have filled with whatever they like. */
import type { AccessEntry } from '../../site-logs/access-entry.ts'

export type WebRequest = {
  /** Under which a site was looked up; `-` for none. */
  name: string
  /** Milliseconds since the epoch. */
  beganAt: number
  endedAt: number
  entry: AccessEntry
}

/** As the configuration writes it. */
type Fields = {
  h: string
  t: number
  r: string
  m: string
  u: string
  s: number
  b: number
  d: number
  S: string
  f: string
  a: string
}

const TEXTS = ['h', 'r', 'm', 'u', 'S', 'f', 'a'] as const
const NUMBERS = ['t', 's', 'b', 'd'] as const
/** Longer than any that is registered. */
const MAX_METHOD = 32

/** @returns undefined for what is no such line */
export function readWebLine(line: string): WebRequest | undefined {
  const fields = parse(line) ?? parse(withoutLeadingZeros(line))
  if (!isWhole(fields)) return undefined
  const endedAt = Math.round(fields.t * 1000)
  const durationMs = Math.round(fields.d * 1000)
  return {
    name: fields.h,
    beganAt: endedAt - durationMs,
    endedAt,
    entry: {
      at: endedAt,
      client: fields.r,
      scheme: fields.S === 'https' ? 'https' : 'http',
      host: fields.h,
      method: fields.m.slice(0, MAX_METHOD),
      uri: fields.u,
      status: fields.s,
      bytes: fields.b,
      durationMs,
      referer: fields.f,
      userAgent: fields.a,
    },
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** A request that ended before it had a status has `000`, which is no number of JSON. Within a text, the quotes are escaped. */
const withoutLeadingZeros = (line: string) => line.replace(/"s":0+(?=\d)/, '"s":')

function isWhole(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null) return false
  const fields = value as Record<string, unknown>
  return (
    TEXTS.every((name) => typeof fields[name] === 'string') &&
    NUMBERS.every((name) => Number.isFinite(fields[name]) && Number(fields[name]) >= 0)
  )
}
