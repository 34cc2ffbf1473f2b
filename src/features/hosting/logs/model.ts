/** The schemas of `/sites/:id/logs`. */
import { t } from 'elysia'
import { formatTimestamp, parseTimestamp } from '../../../core/timestamp.ts'
import { choice, integerOut, integerText, nullable, text, timestampOut, toInteger } from '../../../http/schema.ts'
import type { LogKind } from '../../../node/protocol.ts'
import { inSubscription } from '../model.ts'
import type { LogFilter } from './logs.ts'

const DEFAULT_LINES = 200

export const logQuery = {
  ...inSubscription,
  kind: t.Optional(
    choice(
      ['access', 'error', 'php'],
      'Requests, what the web server could not do, or what PHP says; requests when absent',
    ),
  ),
  lines: t.Optional(
    integerText({ minimum: 1, maximum: 1000, description: `The most lines to return; ${DEFAULT_LINES} when absent` }),
  ),
  search: t.Optional(
    text({
      minLength: 1,
      maxLength: 200,
      examples: ['/checkout'],
      description: 'Text in the lines, whatever its case',
    }),
  ),
}

type LogQuery = { kind?: LogKind; lines?: string; search?: string }

export function toLogFilter({ kind = 'access', lines, search }: LogQuery): LogFilter {
  return { kind, lines: lines === undefined ? DEFAULT_LINES : toInteger(lines), search: search ?? null }
}

export const LogLine = t.Object(
  {
    time: nullable(timestampOut()),
    text: t.String({ examples: ['GET / 200'], description: 'The line, or the request in short' }),
    request: nullable(
      t.Object(
        {
          client: t.String({ examples: ['203.0.113.9'], description: "The visitor's address, or its network" }),
          scheme: t.String({ examples: ['https'] }),
          host: t.String({ examples: ['www.example.com'] }),
          method: t.String({ examples: ['GET'] }),
          uri: t.String({ examples: ['/?page=2'] }),
          status: integerOut({ minimum: 0, examples: [200] }),
          bytes: integerOut({ minimum: 0, examples: [5120] }),
          duration_ms: integerOut({ minimum: 0, examples: [3] }),
          referer: t.String({ examples: ['android-app://com.example/'] }),
          user_agent: t.String({ examples: ['Mozilla/5.0'] }),
        },
        { additionalProperties: false, description: 'Of a line of the access log' },
      ),
    ),
  },
  { additionalProperties: false, title: 'LogLine' },
)

/** A line as a node has given it: it may be anything. */
export function toLogLine(kind: LogKind, line: string): typeof LogLine.static {
  const plain = { time: null, text: line.toWellFormed(), request: null }
  const fields = kind === 'access' ? readFields(line) : undefined
  if (!fields) return plain
  const request = {
    client: textOf(fields.client),
    scheme: textOf(fields.scheme),
    host: textOf(fields.host),
    method: textOf(fields.method),
    uri: textOf(fields.uri),
    status: countOf(fields.status),
    bytes: countOf(fields.bytes),
    duration_ms: countOf(fields.duration_ms),
    referer: textOf(fields.referer),
    user_agent: textOf(fields.user_agent),
  }
  const at = parseTimestamp(textOf(fields.time))
  const text = `${request.method} ${request.uri} ${request.status}`
  return { time: at === undefined ? null : formatTimestamp(at), text, request }
}

function readFields(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.toWellFormed() : '')
const countOf = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
