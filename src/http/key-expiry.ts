/** Tells the user of an API key when it expires, in headers that scripts can read. */
import type { Credential } from '../core/principal.ts'
import { formatTimestamp } from '../core/timestamp.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** This long before the expiry, every response begins to carry a warning. */
const WARNING_MS = 14 * DAY_MS

const SELF_ROTATION_PATH = '/api/v1/auth/api-keys/self/rotate'

/** Sets nothing for a key that does not expire. */
export function tellExpiry(credential: Credential, nowMs: number, headers: Headers): void {
  if (credential.kind !== 'api_key' || credential.expiresAt === null) return
  const { expiresAt, superseded, renewableUntil = 0 } = credential
  headers.set('x-api-key-expires', formatTimestamp(expiresAt))
  if (expiresAt - nowMs > WARNING_MS) return
  const days = Math.ceil((expiresAt - nowMs) / DAY_MS)
  const remedy =
    renewableUntil > expiresAt ? `rotate it with POST ${SELF_ROTATION_PATH}` : 'give it a new expiry, or replace it'
  const cause = superseded ? 'it was rotated' : remedy
  headers.set('x-api-key-warning', `expires in ${days === 1 ? 'a day or less' : `${days} days`}: ${cause}`)
}
