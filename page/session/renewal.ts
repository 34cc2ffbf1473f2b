/** What waits for a new login while the page and its forms stay as they are. */
import { observed } from '../observed.ts'
import { session } from './session.ts'

/** Whether a login is wanted: because the session has ended, or because the user asks before it does. */
export const renewal = observed<'none' | 'ended' | 'early'>('none')

let waiting: { resolve(): void; reject(): void }[] = []

/**
 * Resolves after a login; rejects if the user leaves instead.
 *
 * @param token what was refused: another one may be there already
 */
export function renewed(token: string): Promise<void> {
  const current = session.get()
  if (!current) return Promise.reject(new Error('logged out'))
  if (current.token !== token) return Promise.resolve()
  renewal.set('ended')
  return new Promise((resolve, reject) => {
    waiting.push({ resolve, reject: () => reject(new Error('logged out')) })
  })
}

function settle(how: 'resolve' | 'reject'): void {
  const settled = waiting
  waiting = []
  renewal.set('none')
  for (const waiter of settled) waiter[how]()
}

/** Told by the session itself: a login here, its end anywhere. */
session.subscribe(() => settle(session.get() ? 'resolve' : 'reject'))
