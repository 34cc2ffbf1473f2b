/** The notices that users get by email, as data; the texts of each language word them. */

/** Times in milliseconds since the epoch. */
export type Notice =
  | { kind: 'password_set' }
  | { kind: 'two_factor_enabled' }
  | { kind: 'two_factor_disabled' }
  | { kind: 'two_factor_reset' }
  | { kind: 'recovery_codes_renewed' }
  /** The address that the account is to move to, or has. */
  | { kind: 'email_change_requested'; email: string }
  | { kind: 'email_changed'; email: string }
  /** `expiresAt` is null for never; `renewableUntil` is until when it may rotate itself, null for one that may not. */
  | {
      kind: 'api_key_created'
      name: string
      prefix: string
      expiresAt: number | null
      renewableUntil: number | null
    }
  | {
      kind: 'api_key_rotated_itself'
      name: string
      prefix: string
      expiresAt: number
      previousValidUntil: number | null
      renewableUntil: number
      address: string
    }
  /** `previousValidUntil` of the old secret, null when it has stopped at once. */
  | { kind: 'api_key_rotated'; name: string; prefix: string; previousValidUntil: number | null }
  | { kind: 'api_key_expiry_changed'; name: string; prefix: string; expiresAt: number | null }
  | { kind: 'api_key_expires'; name: string; prefix: string; expiresAt: number }
  | { kind: 'new_address'; address: string }
  /** `left` are the codes that still work. */
  | { kind: 'recovery_code_used'; left: number }
  | { kind: 'login_attempts_slowed' }
  | { kind: 'session_attempts_slowed' }
  | { kind: 'api_key_deleted'; name: string; prefix: string }
  | { kind: 'account_unlocked' }
  /** So much happened that the user does not get an email about each change. */
  | { kind: 'many_changes' }
  /** With so many sites and API keys that were bound to it. */
  | { kind: 'subscription_deleted'; name: string; sites: number; apiKeys: number }

/** Who did what a notice tells. */
export type Author = 'user' | 'administrator' | 'operator'
