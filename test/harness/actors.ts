/** Actors for tests that call a service directly. */
import type { Caller, Origin, UnauthenticatedClient } from '../../src/core/actor.ts'

const origin: Origin = { address: '203.0.113.7', group: '203.0.113.7', userAgent: 'test', requestId: 'test' }

export const stranger: UnauthenticatedClient = { kind: 'unauthenticated', origin }

/**
 * A customer who requests something that every JWT allows.
 *
 * @param sessionId 0, which no session has, for one that has ended
 */
export function callerFor(userId: number, sessionId = 0): Caller {
  const credential = { kind: 'jwt' as const, sessionId, expiresAt: 0 }
  return { kind: 'user', userId, role: 'customer', credential, origin, rights: { access: 'user' } }
}
