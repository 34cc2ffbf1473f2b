/** The service's requests for creating and changing API keys. */
import type { Scope } from '../../../core/scope.ts'

export type NewApiKey = {
  name: string
  /** Milliseconds since the epoch; undefined for a key that is valid until it is deleted. */
  expiresAt?: number | undefined
  /** Undefined allows everything that the user may do. */
  scopes?: readonly Scope[] | undefined
  /** CIDR ranges in normal form; undefined allows every address. */
  allowedCidrs?: readonly string[] | undefined
  /** Undefined for all subscriptions of the user. */
  subscriptionId?: number | undefined
  /** Undefined for all sites of its subscription, or of all. */
  sites?: readonly number[] | undefined
  /** Whether it may rotate itself. */
  canRotate?: boolean | undefined
  /** Until when, in milliseconds since the epoch; undefined for a year. */
  renewableUntil?: number | undefined
}

export type ApiKeyChanges = {
  name?: string
  /** Milliseconds since the epoch; null for never. */
  expiresAt?: number | null
}
