/** Several listening ports that stop as one. */
import type { Listener } from '../tls/listener.ts'

export type Stoppable = Pick<Listener, 'retire' | 'drain' | 'cut'>

/** @param listeners those that are open; undefined ones are skipped */
export function together(...listeners: (Stoppable | undefined)[]): Stoppable {
  const open = listeners.filter((listener) => listener !== undefined)
  return {
    retire() {
      for (const listener of open) listener.retire()
    },
    async drain() {
      await Promise.all(open.map((listener) => listener.drain()))
    },
    async cut() {
      await Promise.all(open.map((listener) => listener.cut()))
    },
  }
}
