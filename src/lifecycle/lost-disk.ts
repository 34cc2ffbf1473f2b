/** Stops a panel whose disk does not keep what is written: requests in flight are answered, and no file is touched. */
import type { Stoppable } from './together.ts'

/** What the answers get to leave: all that is left to say is 503. */
const ANSWERS_MS = 1000

export type LostDiskOptions = {
  listener: Pick<Stoppable, 'retire' | 'drain'>
  /** Readiness fails. */
  announce(): void
  /** Ends the process without closing anything. */
  exit(): void
}

export async function endWithoutDisk({ listener, announce, exit }: LostDiskOptions): Promise<void> {
  announce()
  listener.retire()
  await Promise.race([listener.drain(), Bun.sleep(ANSWERS_MS)])
  exit()
}
