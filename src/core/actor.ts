/** Actors: the user, client or program behind an action, with its credential and origin, for services and the audit log. */
import { AppError } from './errors.ts'
import type { NodePrincipal, Principal } from './principal.ts'
import type { Rights } from './rights.ts'

/** Where a request comes from. `group` is what limits count by. */
export type Origin = { address: string; group: string; userAgent: string; requestId: string }

/** A user with a valid credential, over the API. */
export type AuthenticatedUser = Principal & { kind: 'user'; origin: Origin }
/** An authenticated user on a route: `rights` is what the route requires, and every transaction checks it again. */
export type Caller = AuthenticatedUser & { rights: Rights }
/** A client of the API without a credential: at login, or with a token from an email. */
export type UnauthenticatedClient = { kind: 'unauthenticated'; origin: Origin }
/** A node with a valid token, which every transaction for it checks again. */
export type NodeActor = NodePrincipal & { kind: 'node'; origin: Origin }
/** The person at the server's command line. */
export type Operator = { kind: 'operator' }
/** The panel itself, in a task. */
export type PanelActor = { kind: 'panel' }

export type Actor = Caller | UnauthenticatedClient | NodeActor | Operator | PanelActor
/** The part of an actor that the audit log records. */
export type AuditedActor = AuthenticatedUser | UnauthenticatedClient | NodeActor | Operator | PanelActor

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
