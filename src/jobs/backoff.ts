/** How long to wait before the next attempt at what failed, or was refused for coming too often. */

export type Backoff = {
  /** The delay after the first failure, in milliseconds. It doubles with each further one. */
  firstDelayMs: number
  longestDelayMs: number
}

/**
 * Without jitter: what waits here is one panel, or one account, and not a fleet that would come back in step.
 *
 * @param failures in a row, from 1
 * @returns milliseconds
 */
export function delayAfter({ firstDelayMs, longestDelayMs }: Backoff, failures: number): number {
  return Math.min(firstDelayMs * 2 ** (failures - 1), longestDelayMs)
}
