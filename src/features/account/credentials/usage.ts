/** Records when a key or session was last used, and writes it in batches off the request path. */
import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { createLatestTimes } from '../../../core/latest-times.ts'
import { nextTurn } from '../../../core/next-turn.ts'
import type { Credential } from '../../../core/principal.ts'
import { given, prepare } from '../../../db/statements.ts'
import type { Store } from '../../../db/store.ts'
import { apiKeys, sessions } from '../../../db/tables.ts'
import { createSingleFlight } from '../../../jobs/single-flight.ts'
import type { Log } from '../../../log/log.ts'

/** Keys or sessions written per transaction, during which all other writers wait. */
const BATCH = 200

// Prepared: thousands may have been used.
const setUsed = prepare((tx) =>
  tx
    .update(apiKeys)
    .set({ lastUsedAt: given('at') })
    .where(eq(apiKeys.id, given('id'))),
)
const setSeen = prepare((tx) =>
  tx
    .update(sessions)
    .set({ lastSeenAt: given('at') })
    .where(eq(sessions.id, given('id'))),
)

export type Usage = ReturnType<typeof createUsage>

export function createUsage({ store, clock, log }: { store: Store; clock: Clock; log: Log }) {
  const keys = createLatestTimes()
  const seen = createLatestTimes()

  async function write(): Promise<void> {
    while (keys.size > 0 || seen.size > 0) {
      await writeSome()
      await nextTurn()
    }
  }

  async function writeSome(): Promise<void> {
    const keyTimes = keys.take(BATCH)
    const sessionTimes = seen.take(BATCH)
    try {
      await store.writeSoon(async (tx) => {
        for (const [id, at] of keyTimes) await setUsed.run(tx, { id, at })
        for (const [id, at] of sessionTimes) await setSeen.run(tx, { id, at })
      })
    } catch (error) {
      keys.putBack(keyTimes)
      seen.putBack(sessionTimes)
      throw error
    }
  }

  const writing = createSingleFlight(write)

  return {
    record(credential: Credential): void {
      if (credential.kind === 'api_key') keys.set(credential.keyId, clock.now())
      else seen.set(credential.sessionId, clock.now())
    },

    /** Writes what has been recorded. @throws Error when the store does */
    flush: writing.next,

    /** For readers of `lastUsedAt` or `lastSeenAt`: if nothing can be written, they see an older time. */
    async settle(): Promise<void> {
      await writing.next().catch((err) => log.error({ err }, 'the last use of credentials was not written'))
    },
  }
}
