/** A command on a pseudo-terminal, as a person runs it: what the screen shows, and what is typed. */
import type { Installation } from './binary.ts'
import { until } from './until.ts'
import { workaroundEnvironment } from './workarounds.ts'

type Options = {
  /** What is typed, in turn, each once its question is on the screen. */
  answers?: { when: RegExp; type: string }[]
  environment?: Record<string, string>
  columns?: number
}

/** @returns the exit code, the lines of the screen without colours, and all that was written to the terminal */
export async function onTerminal(here: Installation, args: string[], options: Options = {}) {
  const { answers = [], environment = {}, columns = 160 } = options
  let raw = ''
  const decoder = new TextDecoder()
  const child = Bun.spawn(['./ncp', ...args], {
    cwd: here.directory,
    env: {
      PATH: '/usr/bin:/bin',
      NCP_CONFIG: '/dev/null',
      ...workaroundEnvironment,
      TERM: 'xterm-256color',
      ...environment,
    },
    terminal: {
      cols: columns,
      rows: 50,
      data: (_: unknown, chunk: Uint8Array) => {
        raw += decoder.decode(chunk, { stream: true })
      },
    },
  })
  for (const { when, type } of answers) {
    await until(`the question ${when}`, () => when.test(Bun.stripANSI(raw)) || child.exitCode !== null)
    child.terminal?.write(type)
  }
  await until('the end of the command', () => child.exitCode !== null)
  const exitCode = await child.exited
  child.terminal?.close()
  const lines = Bun.stripANSI(raw)
    .split('\r\n')
    // What a carriage return goes back over is not seen any longer.
    .map((line) => line.split('\r').at(-1) ?? '')
    .filter((line) => line !== '')
  return { exitCode, raw, lines }
}
