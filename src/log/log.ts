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
  /** `text` for people; a line is JSON otherwise. */
  format: 'json' | 'text'
  clock: Clock
  sink: LogSink
}

export function createLog({ level, format, clock, sink }: LogOptions): ProcessLog {
  let threshold = LOG_LEVELS.indexOf(level)
  const render = format === 'text' ? toText : (line: string) => line
  // Most lines of a busy server fall into the same millisecond.
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
      // What JSON leaves as it is, a terminal that shows the log would obey.
      sink.write(render(`${printable(line)}\n`))
    }
  }

  return {
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),

    request({ requestId, method, route, status, durationMs, userId, credential, client, rejected }, of) {
      if (LOG_LEVELS.indexOf(of) < threshold) return
      // Put together by hand: at some 20 µs a request, a serialiser that knows nothing of these fields is a tenth of it.
      sink.buffer(
        render(
          `{"time":"${timestamp()}","level":"${of}","msg":"request","requestId":"${requestId}","method":"${method}","route":"${route}","status":${status},"durationMs":${durationMs},"userId":${userId},"credential":"${credential}","client":"${client}"${rejected ? `,"rejected":"${rejected}"` : ''}}\n`,
        ),
      )
    },

    setLevel(next) {
      threshold = LOG_LEVELS.indexOf(next)
    },
  }
}

/** A failed query tells its values, which are hashes, addresses and sealed seeds. */
const QUERY_VALUES = /\nparams: [\s\S]*/

/** An error's own properties are not those that matter. Its cause is where a query or a socket says what failed. */
function describeErrors(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}`
  if (!(value instanceof Error)) return value
  const { name, stack = '', cause } = value
  const { code } = value as { code?: unknown }
  const message = value.message.replace(QUERY_VALUES, '')
  return { type: name, message, code, stack: stack.replace(value.message, () => message), cause }
}
