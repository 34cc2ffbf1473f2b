/** The right of an API key to rotate itself: given at creation, limited in time, and never given later. */
import { AppError } from '../../../core/errors.ts'
import type { apiKeys } from '../../../db/tables.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** How long the right lasts by default. */
const DEFAULT_MS = 365 * DAY_MS
/** The longest it can last. */
const MAX_MS = 2 * DEFAULT_MS

export const SELF_ROTATION_IS_OFF =
  'API keys may not rotate themselves here; an administrator can allow it with the setting api_key_self_rotation'

/** The stored form of the right; all null for a key without it. */
export type Renewal = Pick<typeof apiKeys.$inferSelect, 'lifetimeMs' | 'renewableUntil'>

export const noRenewal: Renewal = { lifetimeMs: null, renewableUntil: null }

/** Times in milliseconds since the epoch. */
export type WantedRenewal = {
  canRotate?: boolean | undefined
  renewableUntil?: number | undefined
  expiresAt?: number | null | undefined
}

/** @throws AppError `validation_error` if the key has no expiry, or if the right ends too soon or too late */
export function renewalOf({ canRotate, renewableUntil, expiresAt }: WantedRenewal, nowMs: number): Renewal {
  if (!canRotate) {
    if (renewableUntil === undefined) return noRenewal
    throw new AppError('validation_error', 'renewable_until: is only allowed with can_rotate: true')
  }
  if (typeof expiresAt !== 'number') {
    throw new AppError('validation_error', 'expires_at: must be given with can_rotate: true')
  }
  const until = renewableUntil ?? nowMs + DEFAULT_MS
  if (until < expiresAt) {
    throw new AppError(
      'validation_error',
      'renewable_until: must not be before expires_at; it is a year from now when absent',
    )
  }
  if (until > nowMs + MAX_MS) throw new AppError('validation_error', 'renewable_until: must be within 730 days')
  return { lifetimeMs: expiresAt - nowMs, renewableUntil: until }
}
