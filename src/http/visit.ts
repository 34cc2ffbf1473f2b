/** What the gate finds out about a request before it is routed, for everyone behind it. */
import { Elysia } from 'elysia'
import type { Principal } from '../core/principal.ts'
import type { ClientAddress } from '../limiter/address.ts'

export type Visit = {
  requestId: string
  client: ClientAddress
  /** The credential as it was sent, once it has been read strictly; undefined when there was none, or a malformed one. */
  bearer: string | undefined
  /** Whether an Authorization header was sent at all. */
  credentialSent: boolean
  principal: Principal | undefined
}

/** Stands in the context until the gate has run, which is before anything else. */
const nobody: Visit = {
  requestId: '',
  client: { address: 'unknown', group: 'unknown' },
  bearer: undefined,
  credentialSent: false,
  principal: undefined,
}

/** Gives every context its `visit`. */
export const visit = new Elysia({ name: 'visit' }).decorate('visit', nobody)
