/** How what was read is kept and read again: politely, since a page and the scripts of its user share one limit. */
import { QueryClient } from '@tanstack/preact-query'
import { session } from '../session/session.ts'
import { isProblem } from './problem.ts'

const MAX_RETRIES = 3
/** While something is in progress, and otherwise; in a visible tab only. */
export const SOON_MS = 3000
export const LATER_MS = 30_000

function isWorthRetrying(failures: number, error: unknown): boolean {
  if (!isProblem(error) || failures >= MAX_RETRIES) return false
  return error.status === 429 || error.status >= 500
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      retry: isWorthRetrying,
      retryDelay: (failures, error) =>
        isProblem(error) && error.retryAfter !== undefined ? error.retryAfter * 1000 : 1000 * 2 ** failures,
    },
  },
})

let userId = session.get()?.userId
session.subscribe(() => {
  const next = session.get()?.userId
  // Nothing of one user is shown to the next.
  if (next !== userId) queryClient.clear()
  userId = next
})
