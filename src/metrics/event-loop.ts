/** Measures how late the event loop runs, since every request waits for it. */

const INTERVAL_MS = 100

/** @returns the longest delay since the last call, in seconds */
export function watchEventLoop(): () => number {
  let due = performance.now() + INTERVAL_MS
  let longestMs = 0
  const timer = setInterval(() => {
    const now = performance.now()
    longestMs = Math.max(longestMs, now - due)
    due = now + INTERVAL_MS
  }, INTERVAL_MS)
  timer.unref()

  return () => {
    const lagMs = Math.max(longestMs, performance.now() - due)
    longestMs = 0
    return lagMs / 1000
  }
}
