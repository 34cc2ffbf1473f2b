/** How long to wait after a failure, or after too many attempts, before the next one. */

export type Backoff = {
  /** The delay after the first failure, in milliseconds. It doubles with each further one. */
  firstDelayMs: number
  longestDelayMs: number
}

/**
 * No jitter: a single panel or account waits here, not a fleet whose retries would coincide.
 *
 * @param failures in a row, from 1
 * @returns milliseconds
 */
export function delayAfter({ firstDelayMs, longestDelayMs }: Backoff, failures: number): number {
  return Math.min(firstDelayMs * 2 ** (failures - 1), longestDelayMs)
}
