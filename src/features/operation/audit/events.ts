/** The events of the audit log: every action by name, and what its entries record. */
import type { Details } from '../../../core/details.ts'

/** Append only; a name that has been written never gets another meaning. */
export const ACTIONS = [
  'auth.login',
  'auth.logout',
  'auth.password_confirm',
  'auth.password_change',
  'auth.password_reset_request',
  'auth.password_set',
  'auth.two_factor_setup',
  'auth.two_factor_enable',
  'auth.two_factor_disable',
  'auth.two_factor_code',
  'auth.two_factor_reset',
  'auth.recovery_codes_renew',
  'auth.email_change_request',
  'auth.email_change',
  'auth.unlock',
  'session.end',
  'api_key.create',
  'api_key.delete',
  'user.create',
  'user.activation_renew',
  'user.change',
  'user.delete',
  'subscription.create',
  'subscription.change',
  'site.create',
  'site.change',
  'site.delete',
  'settings.change',
  'audit.prune',
  /** A request refused for its credential, its rights or the rate limit. */
  'request',
  'api_key.change',
  'api_key.rotate',
  /** Guessing at an account was slowed down, and its owner notified. */
  'auth.throttle',
  'subscription.delete',
  'node.create',
  'node.remove',
  'node.token_rotate',
  'deployment.create',
  'node.drain',
  'node.resume',
  'certificate.upload',
  'certificate.delete',
  'certificate.retry',
  'deployment.activate',
  'ssh_key.create',
  'ssh_key.delete',
  'site.environment',
] as const

export type Action = (typeof ACTIONS)[number]

export type TargetType =
  | 'user'
  | 'session'
  | 'api_key'
  | 'subscription'
  | 'site'
  | 'node'
  | 'deployment'
  | 'certificate'
  | 'ssh_key'

export type AuditEvent = {
  action: Action
  /** The account it concerns; null if it concerns the whole installation or an unknown user. */
  accountId: number | null
  target?: { type: TargetType; id: number }
  details?: Details
}
