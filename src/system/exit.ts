/** Ends the process at once, as a crash would: nothing is closed or flushed. */
import { libc } from './libc.ts'

/**
 * Bun closes every database when a process ends, and SQLite then moves its log into the database and deletes it: not to be done on
 * a disk that does not keep what is written.
 */
export function exitAtOnce(code: number): never {
  try {
    libc()._exit(code)
  } catch {
    // No C library that we know.
  }
  process.kill(process.pid, 'SIGKILL')
  throw new Error('unreachable')
}
