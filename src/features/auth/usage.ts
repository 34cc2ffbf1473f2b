/** Remembers when a key or a session was last used, and writes it in batches off the request path. */
import { eq, sql } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import type { Credential } from '../../core/principal.ts'
import type { Store } from '../../db/store.ts'
import { apiKeys, sessions } from '../../db/tables.ts'

export type Usage = ReturnType<typeof createUsage>

export function createUsage({ store, clock }: { store: Store; clock: Clock }) {
  const keys = new Map<number, number>()
  const seen = new Map<number, number>()

  return {
    record(credential: Credential): void {
      if (credential.kind === 'api_key') keys.set(credential.keyId, clock.now())
      else seen.set(credential.sessionId, clock.now())
    },

    /** Writes what has been recorded. Whoever reads `lastUsedAt` or `lastSeenAt` calls this first. */
    async flush(): Promise<void> {
      if (keys.size === 0 && seen.size === 0) return
      const keyTimes = [...keys]
      const sessionTimes = [...seen]
      keys.clear()
      seen.clear()
      await store.write(async (tx) => {
        // Prepared: thousands may have been used, and everybody waits meanwhile.
        const setUsed = tx
          .update(apiKeys)
          .set({ lastUsedAt: sql`${sql.placeholder('at')}` })
          .where(eq(apiKeys.id, sql.placeholder('id')))
          .prepare()
        const setSeen = tx
          .update(sessions)
          .set({ lastSeenAt: sql`${sql.placeholder('at')}` })
          .where(eq(sessions.id, sql.placeholder('id')))
          .prepare()
        for (const [id, at] of keyTimes) await setUsed.run({ id, at })
        for (const [id, at] of sessionTimes) await setSeen.run({ id, at })
      })
    },
  }
}
