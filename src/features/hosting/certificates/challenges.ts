/** Has the node of a site answer a challenge. */
import { eq } from 'drizzle-orm'
import { panelItself } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import type { CommitSignal } from '../../../db/commit-signal.ts'
import type { ReadStore } from '../../../db/store.ts'
import { certificateChallenges } from '../../../db/tables.ts'
import { desired } from '../../../node/desired-states.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { CertifiedSite } from './site.ts'

export type ChallengesOptions = { store: ReadStore; writeAs: WriteAs; commits: CommitSignal; clock: Clock }

export type Challenges = ReturnType<typeof createChallenges>

/** How long a node has to do what it is told. */
export const NODE_PATIENCE_MS = 60_000

/** The node did not do in time what it was told. */
export class SilentNodeError extends Error {}

export function createChallenges({ store, writeAs, commits, clock }: ChallengesOptions) {
  const ofToken = (token: string) => eq(certificateChallenges.token, token)

  async function retract({ subscriptionId }: CertifiedSite, token: string): Promise<void> {
    await writeAs(panelItself, async (tx) => {
      await tx.delete(certificateChallenges).where(ofToken(token))
      await desired.announce(tx, subscriptionId)
    })
  }

  return {
    /**
     * @returns once it is answered, what takes it away again
     * @throws SilentNodeError
     */
    async publish(site: CertifiedSite, token: string, answer: string, signal: AbortSignal) {
      const row = { token, siteId: site.id, answer, isInPlace: false, createdAt: clock.now() }
      await writeAs(panelItself, async (tx) => {
        await tx
          .insert(certificateChallenges)
          .values(row)
          .onConflictDoUpdate({ target: certificateChallenges.token, set: row })
        await desired.announce(tx, site.subscriptionId)
      })
      const patience = AbortSignal.any([signal, AbortSignal.timeout(NODE_PATIENCE_MS)])
      for (;;) {
        const change = commits.next(patience)
        const [found] = await store.read.select().from(certificateChallenges).where(ofToken(token))
        if (found?.isInPlace) return () => retract(site, token)
        if (patience.aborted) break
        await change
      }
      await retract(site, token)
      throw new SilentNodeError('The server did not answer the challenge in time')
    },
  }
}
