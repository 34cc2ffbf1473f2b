/** Who does something, with which credential and from where, as services and the audit log need it. */
import { AppError } from './errors.ts'
import type { Principal } from './principal.ts'
import type { Rights } from './rights.ts'

/** Where a request comes from. `group` is what limits count by. */
export type Origin = { address: string; group: string; userAgent: string; requestId: string }

/** A user with a valid credential, over the API. */
export type AuthenticatedUser = Principal & { kind: 'user'; origin: Origin }
/** One who asks for something: `rights` is what the route asked of the credential, and every transaction asks again. */
export type Caller = AuthenticatedUser & { rights: Rights }
/** Somebody over the API without one: who logs in, or holds a token that came by mail. */
export type UnauthenticatedClient = { kind: 'unauthenticated'; origin: Origin }
/** The person at the server's command line. */
export type Operator = { kind: 'operator' }
/** The panel itself, by a timer of its own. */
export type PanelActor = { kind: 'panel' }

export type Actor = Caller | UnauthenticatedClient | Operator | PanelActor
/** An actor as far as the audit log tells of one. */
export type AuditedActor = AuthenticatedUser | UnauthenticatedClient | Operator | PanelActor

export const operator: Operator = { kind: 'operator' }
export const panelItself: PanelActor = { kind: 'panel' }

/**
 * For what makes an administrator or weakens one: a key with scopes could give itself all that its maker took from it.
 *
 * @param what it would do, after "may not"
 * @throws AppError `forbidden` for an API key with scopes
 */
export function requireWithoutScopes(actor: Actor, what: string): void {
  if (actor.kind !== 'user' || actor.credential.kind !== 'api_key' || !actor.credential.restrictions?.scopes) return
  throw new AppError('forbidden', `An API key with scopes may not ${what}: use one without scopes, or log in`)
}
