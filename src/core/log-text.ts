/** A log line for people: the time of day, the level, what happened, then the fields. */

const COLOURS: Record<string, string> = { debug: '\x1b[2m', info: '\x1b[36m', warn: '\x1b[33m', error: '\x1b[31m' }
const DIM = '\x1b[2m'
const RESET = '\x1b[0m'

/** @param line a line of JSON with `time`, `level` and `msg` */
export function toText(line: string): string {
  const { time, level, msg, err, ...fields } = JSON.parse(line)
  const rest = Object.entries(fields).map(([name, value]) => ` ${DIM}${name}=${RESET}${plain(value)}`)
  const stack = err === undefined ? '' : `\n  ${plain(err.stack ?? err.message, '\n  ')}`
  return `${time.slice(11, 23)} ${COLOURS[level]}${level.toUpperCase().padEnd(5)}${RESET} ${msg}${rest.join('')}${stack}\n`
}

/** A terminal obeys control characters, and some of a field's text may come from a client or a mail server. */
function plain(value: unknown, newline = ' '): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through
  return text.replaceAll('\n', newline).replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, '?')
}
