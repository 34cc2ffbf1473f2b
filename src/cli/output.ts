/** What commands print: tables and sentences on a terminal, plain lines for pipes, one JSON document for scripts. */
import { styleText } from 'node:util'
import { printable, printableLines } from '../core/printable.ts'

type Style = Parameters<typeof styleText>[0]

/** Whether a person reads standard output. */
export const isTerminal = (): boolean => process.stdout.isTTY === true

/** Lines, safe for a terminal whatever is in them. */
export function print(lines = ''): void {
  process.stdout.write(`${printableLines(lines)}\n`)
}

/** Lines that are safe already, and may be coloured. */
export function printStyled(lines: string): void {
  process.stdout.write(`${lines}\n`)
}

export function printJson(value: unknown): void {
  process.stdout.write(`${printable(JSON.stringify(value))}\n`)
}

export function printError(lines: string): void {
  process.stderr.write(`${printableLines(lines)}\n`)
}

const CLEAR_LINE = '\r\x1b[2K'

/** Whether a person sees standard error. */
export const hasScreen = (): boolean => process.stderr.isTTY === true

/** One line on standard error that the next one replaces; an empty one is none. */
export function showStatus(text: string): void {
  process.stderr.write(`${CLEAR_LINE}${printable(text)}`)
}

/** A document of ours for another program, such as a unit or a completion, as it is. */
export function printDocument(text: string): void {
  process.stdout.write(text)
}

/** Colours text on a terminal that shows colours, unless NO_COLOR asks for none (no-color.org). */
export function styled(style: Style, text: string): string {
  // Typed for Node's own streams, which Bun's are.
  return styleText(style, text, { stream: process.stdout, validateStream: true })
}

/** Resolves when everything that was printed is with its reader. */
export function flushed(): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write('', () => resolve())
  })
}

/** A reader that has gone, as in `ncp serve | head -1`, is no reason to stop: the output is just not read. */
export function ignoreClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
}
