/** Takes what a node says of itself: what it runs, what it has seen, and why it may be doing nothing. */
import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { one } from '../../../db/statements.ts'
import type { Queries } from '../../../db/store.ts'
import { nodes } from '../../../db/tables.ts'
import type { Epoch } from '../../../node/epoch.ts'
import { skipSubscriptionIds } from '../../../node/installation.ts'
import type { NodeDescription, NodeStatus } from '../../../node/protocol.ts'

/** A difference of clocks that moves by less was the network. */
const CLOCK_STEP_MS = 1000

export type TakeSelfReport = ReturnType<typeof createTakeSelfReport>

type Told = {
  /** What it runs, and when it says so. */
  description?: NodeDescription | undefined
  /** What it has seen. With the first of an epoch, the node may get subscriptions. */
  status?: NodeStatus | undefined
}

export function createTakeSelfReport({ epoch, clock }: { epoch: Epoch; clock: Clock }) {
  /** @throws AppError `conflict` for a highest subscription that cannot be */
  return async (tx: Queries, nodeId: number, { description, status }: Told): Promise<void> => {
    const row = await one(tx.select().from(nodes).where(eq(nodes.id, nodeId)))
    const isFirst = status !== undefined && row.epoch !== epoch()
    if (isFirst && !(await skipSubscriptionIds(tx, status.highestSubscriptionId))) {
      throw new AppError(
        'conflict',
        'node.highest_subscription_id: is far above every subscription of this installation; has the node served another one?',
      )
    }
    const changes = {
      ...(isFirst && { epoch: epoch() }),
      ...(status && statusOf(status)),
      ...(description && descriptionOf(description, row.clockAheadMs, clock.now())),
    }
    // Without a change no commit, which would empty every cache.
    const isNews = Object.entries(changes).some(([column, value]) => row[column as keyof typeof row] !== value)
    if (isNews) await tx.update(nodes).set(changes).where(eq(nodes.id, nodeId))
  }
}

const statusOf = ({ held, orphans }: NodeStatus) => ({ status: JSON.stringify({ held, orphans }) })

function descriptionOf({ version, phpVersions, time }: NodeDescription, knownAheadMs: number | null, nowMs: number) {
  const aheadMs = time - nowMs
  const isKnown = knownAheadMs !== null && Math.abs(aheadMs - knownAheadMs) < CLOCK_STEP_MS
  return {
    version,
    capabilities: JSON.stringify({ phpVersions }),
    clockAheadMs: isKnown ? knownAheadMs : aheadMs,
  }
}
