/** Records when a node was last seen, and writes the first contact at once, later ones once a minute: a commit for every poll would empty all caches. */
import { eq } from 'drizzle-orm'
import { panelItself } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { createLatestTimes } from '../../../core/latest-times.ts'
import { nodes } from '../../../db/tables.ts'
import { createSingleFlight } from '../../../jobs/single-flight.ts'
import type { Log } from '../../../log/log.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'

export function createNodeUsage({ writeSoonAs, clock, log }: { writeSoonAs: WriteAs; clock: Clock; log: Log }) {
  const seen = createLatestTimes()
  /** By this process: the first contact of each node is written at once. */
  const met = new Set<number>()

  async function write(): Promise<void> {
    if (seen.size === 0) return
    const times = seen.take(seen.size)
    try {
      await writeSoonAs(panelItself, async (tx) => {
        for (const [id, lastSeenAt] of times) await tx.update(nodes).set({ lastSeenAt }).where(eq(nodes.id, id))
      })
    } catch (error) {
      seen.putBack(times)
      throw error
    }
  }

  const writing = createSingleFlight(write)

  async function settle(): Promise<void> {
    await writing.next().catch((err) => log.error({ err }, 'when nodes were last seen was not written'))
  }

  return {
    record: (nodeId: number): void => {
      seen.set(nodeId, clock.now())
      if (met.has(nodeId)) return
      met.add(nodeId)
      void settle()
    },
    /** @throws Error when the store does */
    flush: writing.next,
    /** For readers of `lastSeenAt`: if nothing can be written, they see an older time. */
    settle,
  }
}
