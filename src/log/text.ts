/** A log line for people: the time of day, the level, what happened, then the fields. */
import { printable } from '../core/printable.ts'

const COLOURS: Record<string, string> = { debug: '\x1b[2m', info: '\x1b[36m', warn: '\x1b[33m', error: '\x1b[31m' }
const DIM = '\x1b[2m'
const RESET = '\x1b[0m'

/** @param line a JSON line with `time`, `level` and `msg` */
export function toText(line: string): string {
  const { time, level, msg, err, ...fields } = JSON.parse(line)
  const rest = Object.entries(fields).map(([name, value]) => ` ${DIM}${name}=${RESET}${plain(value)}`)
  const stack = err === undefined ? '' : `\n  ${plain(err.stack ?? err.message, '\n  ')}`
  return `${time.slice(11, 23)} ${COLOURS[level]}${level.toUpperCase().padEnd(5)}${RESET} ${msg}${rest.join('')}${stack}\n`
}

/** Parts of a field's text may come from a client or a mail server. */
function plain(value: unknown, newline = ' '): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.split('\n').map(printable).join(newline)
}
