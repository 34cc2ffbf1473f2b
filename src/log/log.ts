/** The log: one JSON line per event, or a readable line on a terminal. */
import type { Clock } from '../core/clock.ts'
import { printable } from '../core/printable.ts'
import type { ServedRequest } from '../core/served-request.ts'
import type { LogSink } from './sink.ts'
import { toText } from './text.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export type Log = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type RequestLog = Log & {
  /** Written in batches, see `LogSink.buffer`. No field may need escaping in JSON. */
  request(request: ServedRequest, level: 'debug' | 'info'): void
}

export type ProcessLog = RequestLog & {
  setLevel(level: LogLevel): void
}

export type LogOptions = {
  level: LogLevel
  /** `text` for people; otherwise JSON lines. */
  format: 'json' | 'text'
  clock: Clock
  sink: LogSink
}

export function createLog({ level, format, clock, sink }: LogOptions): ProcessLog {
  let threshold = LOG_LEVELS.indexOf(level)
  const render = format === 'text' ? toText : (line: string) => line
  // On a busy server, most lines fall into the same millisecond as the one before.
  let timeMs = Number.NaN
  let time = ''

  function timestamp(): string {
    const now = clock.now()
    if (now !== timeMs) {
      timeMs = now
      time = new Date(now).toISOString()
    }
    return time
  }

  function writer(of: 'info' | 'warn' | 'error') {
    const rank = LOG_LEVELS.indexOf(of)
    return (fields: object, message: string): void => {
      if (rank < threshold) return
      const line = JSON.stringify({ time: timestamp(), level: of, msg: message, ...fields }, describeErrors)
      // Some characters that JSON leaves unescaped would control the terminal that shows the log.
      sink.write(render(`${printable(line)}\n`))
    }
  }

  return {
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),

    request({ requestId, method, route, status, durationMs, userId, credential, nodeId, client, rejected }, of) {
      if (LOG_LEVELS.indexOf(of) < threshold) return
      // Built by hand: at some 20 µs a request, a serialiser that does not know these fields would take a tenth of it.
      sink.buffer(
        render(
          `{"time":"${timestamp()}","level":"${of}","msg":"request","requestId":"${requestId}","method":"${method}","route":"${route}","status":${status},"durationMs":${durationMs},"userId":${userId},"credential":"${credential}"${nodeId === undefined ? '' : `,"nodeId":${nodeId}`},"client":"${client}"${rejected ? `,"rejected":"${rejected}"` : ''}}\n`,
        ),
      )
    },

    setLevel(next) {
      threshold = LOG_LEVELS.indexOf(next)
    },
  }
}

/** The message of a failed query includes its values: hashes, addresses and sealed seeds. */
const QUERY_VALUES = /\nparams: [\s\S]*/

/** The properties that matter are not an error's own enumerable ones. Its cause says why a query or socket failed. */
function describeErrors(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}`
  if (!(value instanceof Error)) return value
  const { name, stack = '', cause } = value
  const { code } = value as { code?: unknown }
  const message = value.message.replace(QUERY_VALUES, '')
  return { type: name, message, code, stack: stack.replace(value.message, () => message), cause }
}
