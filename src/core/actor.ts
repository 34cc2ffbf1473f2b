/** Who does something, with what and from where: what services act for, and what the audit log tells. */
import type { Principal } from './principal.ts'

/** Where a request comes from. `group` is what limits count by. */
export type Origin = { address: string; group: string; userAgent: string; requestId: string }

/** A user with a valid credential, over the API. */
export type Caller = Principal & { kind: 'user'; origin: Origin }
/** Somebody over the API without one: who logs in, or holds a token that came by mail. */
export type Stranger = { kind: 'stranger'; origin: Origin }
/** Whoever sits at the server's command line. */
export type Operator = { kind: 'operator' }
/** The panel itself, by a timer of its own. */
export type Panel = { kind: 'panel' }

export type Actor = Caller | Stranger | Operator | Panel

export const operator: Operator = { kind: 'operator' }
export const panel: Panel = { kind: 'panel' }
