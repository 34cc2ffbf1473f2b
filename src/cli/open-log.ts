/** Opens the log where the configuration says. */
import { labelOf } from '../config/labels.ts'
import { ConfigError } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { createLog, type ProcessLog } from '../log/log.ts'
import { type LogSink, openLogSink } from '../log/sink.ts'

export type OpenLog = { log: ProcessLog; sink: LogSink }

/** @throws ConfigError when the log file cannot be opened */
export function openLog(config: Config): OpenLog {
  const { logLevel, logFormat, logFile } = config
  const isTerminal = logFile === undefined && process.stderr.isTTY
  const format = logFormat === 'auto' ? (isTerminal ? 'text' : 'json') : logFormat
  const sink = openSink(logFile, labelOf(config, 'logFile'))
  // Also where the process ends without closing anything, such as by an uncaught exception.
  process.on('exit', sink.flush)
  return { log: createLog({ level: logLevel, format, clock: systemClock, sink }), sink }
}

function openSink(path: string | undefined, label: string): LogSink {
  try {
    return openLogSink(path)
  } catch (error) {
    throw new ConfigError([`${label}: cannot open ${path} (${(error as NodeJS.ErrnoException).code})`])
  }
}
