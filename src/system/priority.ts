/** Lets work that nobody waits for, or that would take every core, give way to answering requests. */
import { getPriority, setPriority } from 'node:os'

/** A ninth of the weight that the event loop has while both want one core, and all of a core that is free. */
const STEPS = 10
const LOWEST = 19

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
