/** Actors for tests that call a service directly. */
import type { Caller, Origin, Stranger } from '../../src/core/actor.ts'

const origin: Origin = { address: '203.0.113.7', group: '203.0.113.7', userAgent: 'test', requestId: 'test' }

export const stranger: Stranger = { kind: 'stranger', origin }

/** A customer who is logged in. */
export function callerFor(userId: number): Caller {
  return { kind: 'user', userId, role: 'customer', credential: { kind: 'jwt', sessionId: 0, expiresAt: 0 }, origin }
}
