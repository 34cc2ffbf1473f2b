/** A log that a test can read. */
import type { RequestLog } from '../../src/log/log.ts'

export type TestLog = RequestLog & {
  lines: Record<string, unknown>[]
  /** Everything that was logged, as it would be written. */
  text(): string
}

export function createTestLog(): TestLog {
  const lines: Record<string, unknown>[] = []
  const log = (fields: object, msg: string) => {
    lines.push({ ...fields, msg })
  }
  return {
    info: log,
    warn: log,
    error: log,
    request: () => {},
    lines,
    text: () => lines.map((line) => Bun.inspect(line)).join('\n'),
  }
}

/** A log that discards everything. */
export const noLog: RequestLog = { info: () => {}, warn: () => {}, error: () => {}, request: () => {} }
