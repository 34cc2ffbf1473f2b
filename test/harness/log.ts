/** A log that a test can read. */
import type { Log } from '../../src/core/log.ts'

export type TestLog = Log & {
  lines: Record<string, unknown>[]
  /** Everything that was logged, as it would be written. */
  text(): string
}

export function createTestLog(): TestLog {
  const lines: Record<string, unknown>[] = []
  const log = (fields: object, msg: string) => {
    lines.push({ ...fields, msg })
  }
  return { info: log, warn: log, error: log, lines, text: () => lines.map((line) => Bun.inspect(line)).join('\n') }
}
