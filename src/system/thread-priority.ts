/** Lets threads that compute, or that no request waits for, give way to the one that answers requests. */
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/** A ninth of the weight that the event loop has while both want one core, and all of a core that is free. */
const STEPS = 10
const LOWEST = 19

const THREADS = '/proc/self/task'
/** The runtime's own name for threads in which native work runs beside the event loop; it starts more as it needs them. */
const POOL = /^Bun Pool/

/** Milliseconds in which one look is enough: it takes a hundredth of a password's time, and new threads are rare. */
const LOOK_AGAIN_MS = 100

let lookedAt = Number.NEGATIVE_INFINITY

/**
 * Below the main thread, which the operator may have lowered already.
 *
 * @param thread its id; 0 is the thread that calls. On Linux a priority is of a thread, not of its process
 */
export function giveWay(thread = 0): void {
  try {
    setPriority(thread, Math.min(getPriority(process.pid) + STEPS, LOWEST))
  } catch {
    // Another system than Linux, a sandbox that forbids it, or a thread that is gone: then it is equal to the others.
  }
}

/** All threads of the runtime's pool. */
export function lowerPoolPriority(): void {
  const now = performance.now()
  if (now - lookedAt < LOOK_AGAIN_MS) return
  lookedAt = now
  try {
    for (const thread of readdirSync(THREADS)) {
      if (POOL.test(readFileSync(`${THREADS}/${thread}/comm`, 'latin1'))) giveWay(Number(thread))
    }
  } catch {
    // Another system than Linux, or a thread that has just ended.
  }
}
