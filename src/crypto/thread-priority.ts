/** Lets the threads that compute passwords give way to the one that answers requests. */
import { readdirSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'

const THREADS = '/proc/self/task'
/** The runtime's own name for threads in which native work runs beside the event loop; it takes new ones as it needs them. */
const POOL = /^Bun Pool/
/** A ninth of the weight that the event loop has while both want one core, and all of a core that is free. */
const NICENESS = 10

/** Milliseconds in which one look is enough: it takes a hundredth of a password's time, and new threads are rare. */
const LOOK_AGAIN_MS = 100

let lookedAt = Number.NEGATIVE_INFINITY

/** While 64 logins run on two cores, it brings the p99 of the other requests from 200 ms down to 20. */
export function lowerPoolPriority(): void {
  const now = performance.now()
  if (now - lookedAt < LOOK_AGAIN_MS) return
  lookedAt = now
  try {
    for (const thread of readdirSync(THREADS)) {
      if (POOL.test(readFileSync(`${THREADS}/${thread}/comm`, 'latin1'))) setPriority(Number(thread), NICENESS)
    }
  } catch {
    // Another system than Linux, or a sandbox that forbids it: then all threads are equal.
  }
}
