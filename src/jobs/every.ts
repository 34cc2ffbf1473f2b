/** Work that is done from time to time, off the path of any request. */
import type { Log } from '../log/log.ts'

/**
 * Does `work` every so many milliseconds, without keeping the process alive for it. A failure is logged, and `work` is
 * done again the next time.
 *
 * @returns what stops it
 */
export function every(ms: number, work: () => Promise<void>, log: Log, failure: string): () => void {
  const timer = setInterval(() => work().catch((err) => log.error({ err }, failure)), ms)
  timer.unref()
  return () => clearInterval(timer)
}
