/** The settings of the log, and those for troubleshooting. */
import { LOG_LEVELS, type LogLevel } from '../log/log.ts'
import { WORKAROUNDS, type Workaround } from '../system/workarounds.ts'
import { oneOf, someOf, text } from './rules.ts'
import type { Setting } from './setting.ts'

export type DiagnosticConfig = {
  logLevel: LogLevel
  logFormat: 'auto' | 'json' | 'text'
  logFile: string | undefined
  disableWorkarounds: Workaround[]
}

export const diagnosticSettings: { [Key in keyof DiagnosticConfig]: Setting<DiagnosticConfig[Key]> } = {
  logLevel: {
    env: 'NCP_LOG_LEVEL',
    type: 'text',
    default: 'info',
    parse: oneOf(...LOG_LEVELS),
    help: 'debug, info, warn, error or silent',
  },
  logFormat: {
    env: 'NCP_LOG_FORMAT',
    type: 'text',
    default: 'auto',
    parse: oneOf('auto', 'json', 'text'),
    help: 'json, text for people, or auto: text on a terminal, json anywhere else',
  },
  logFile: {
    env: 'NCP_LOG_FILE',
    type: 'text',
    default: undefined,
    parse: text,
    help: 'file to append the log to, created with mode 0600 (default: standard error)',
  },
  disableWorkarounds: {
    env: 'NCP_DISABLE_WORKAROUNDS',
    type: 'list',
    default: [],
    parse: someOf(...WORKAROUNDS),
    help: `for troubleshooting: workarounds, separated by commas, to replace by their slower fallbacks: ${WORKAROUNDS.join(', ')}, or all`,
  },
}
