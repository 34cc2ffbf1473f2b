/** Stops a panel: no new requests, those in flight finish, pending data is written. */
import { pause } from '../core/pause.ts'
import type { Stoppable } from './together.ts'

export type StopOptions = {
  listener: Stoppable
  /** Readiness fails, and the service manager is notified. */
  announce(): void
  /** Writes and closes everything. */
  close(): Promise<void>
  /** How long the port stays open after the announcement, for load balancers to see it. */
  delayMs: number
  /** How long the requests in flight get to finish. */
  drainMs: number
}

/**
 * @returns what to call at each signal. The first call stops the panel, and resolves true when that is done; another
 * one in the meantime waits for no request.
 */
export function createStop({ listener, announce, close, delayMs, drainMs }: StopOptions) {
  const patience = new AbortController()
  let isStopping = false

  /** @returns after the time, or when patience ends */
  const wait = (ms: number) => pause(ms, patience.signal)

  return async function stop(): Promise<boolean> {
    if (isStopping) {
      patience.abort()
      return false
    }
    isStopping = true
    announce()
    listener.retire()
    if (delayMs > 0) await wait(delayMs)
    await Promise.race([listener.drain(), wait(drainMs)])
    await listener.cut()
    await close()
    return true
  }
}
