/** The rights that an action needs, and whether a principal has them: one rule for the guard and for transactions. */
import { AppError } from './errors.ts'
import { isUsableFrom, type KeyRestrictions, type Principal } from './principal.ts'
import type { Scope } from './scope.ts'

/**
 * - `user`: a JWT or an API key
 * - `enrolling`: a JWT, also of a user who has yet to enrol in two-factor authentication
 * - `session`: a JWT; a key cannot manage credentials, or one leaked key would make more of them
 * - `admin`: a JWT or an API key of an administrator
 * - `admin_session`: a JWT of an administrator, for what asks for the administrator's own password
 * - `key`: an API key, for what it does about itself
 */
export type Access = 'user' | 'enrolling' | 'session' | 'admin' | 'admin_session' | 'key'

/** What a route asks of its caller. */
export type Rights = {
  access: Access
  /** The scope that a key with scopes needs: null for what every key may do. Where none is named, such keys are refused. */
  scope?: Scope | null
  /** Whether it keeps to the subscription that a key is bound to. Where it doesn't, such keys are refused. */
  keepsToSubscription?: boolean
  /** Whether it keeps to the sites that a key is bound to. Where it doesn't, such keys are refused. */
  keepsToSites?: boolean
}

/**
 * @param address of the client
 * @throws AppError `ip_not_allowed`, `forbidden`, `scope_missing`, `two_factor_enrolment_required`
 */
export function authorize(principal: Principal, address: string, rights: Rights): void {
  const { access } = rights
  if (!isUsableFrom(principal.credential, address)) {
    throw new AppError('ip_not_allowed', `This API key may not be used from ${address}`)
  }
  if (access === 'session' || access === 'enrolling') requireSession(principal)
  if (access === 'key' && principal.credential.kind !== 'api_key') {
    throw new AppError('forbidden', 'Only an API key can do this; send the key itself')
  }
  if (principal.mustEnrol && access !== 'enrolling') throw new AppError('two_factor_enrolment_required')
  if ((access === 'admin' || access === 'admin_session') && principal.role !== 'admin') {
    throw new AppError('forbidden', 'Only an administrator may do this')
  }
  if (access === 'admin_session') requireSession(principal)
  if (principal.credential.kind === 'api_key' && principal.credential.restrictions) {
    requireWithin(principal.credential.restrictions, rights)
  }
}

/** @throws AppError `forbidden` */
function requireSession({ credential }: Principal): void {
  if (credential.kind === 'jwt') return
  throw new AppError('forbidden', 'An API key cannot do this; log in and use the JWT', {
    'www-authenticate': 'Bearer realm="ncp", error="insufficient_scope"',
  })
}

/**
 * For an action that needs more than the scope of its route.
 *
 * @throws AppError `scope_missing` for a key with scopes, and without this one
 */
export function requireScope({ credential }: Principal, scope: Scope): void {
  const scopes = credential.kind === 'api_key' ? credential.restrictions?.scopes : undefined
  if (scopes && !scopes.has(scope)) throw scopeMissing(scope)
}

/** @param scope undefined where no scope is enough */
function scopeMissing(scope: Scope | undefined): AppError {
  const missing = scope === undefined ? 'This needs an API key without scopes' : `This API key lacks the scope ${scope}`
  const named = scope === undefined ? '' : `, scope="${scope}"`
  return new AppError('scope_missing', missing, {
    'www-authenticate': `Bearer realm="ncp", error="insufficient_scope"${named}`,
  })
}

/** @throws AppError `scope_missing`, `forbidden` */
function requireWithin({ scopes, subscriptionId, siteIds }: KeyRestrictions, rights: Rights): void {
  const { scope, keepsToSubscription, keepsToSites } = rights
  if (scopes && scope !== null && (scope === undefined || !scopes.has(scope))) throw scopeMissing(scope)
  if (subscriptionId !== undefined && !keepsToSubscription) {
    throw new AppError('forbidden', `This API key is bound to subscription ${subscriptionId}, and this goes beyond it`)
  }
  if (siteIds && !keepsToSites)
    throw new AppError('forbidden', 'This API key is bound to sites, and this goes beyond them')
}
