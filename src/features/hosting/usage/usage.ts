/** How many requests the sites get, by the hour: counted by their nodes, kept for two months. */
import { and, asc, eq, gte, lt } from 'drizzle-orm'
import { type Caller, panelItself } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { given, prepare } from '../../../db/statements.ts'
import type { Queries, ReadStore, Write } from '../../../db/store.ts'
import { sites, siteUsage, usageBatches } from '../../../db/tables.ts'
import { desired, type NodeId } from '../../../node/desired-states.ts'
import { type HourUsage, MAX_HOURS_OF_BATCH, type UsageBatch } from '../../../node/protocol.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { SiteAccess, SiteRef } from '../site-access.ts'
import { plus } from './sums.ts'

export type HourRow = typeof siteUsage.$inferSelect

export const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
/** Two months, so that one can be compared with the one before. */
const KEPT_MS = 62 * DAY_MS
/** A node that was cut off reports what is older than this in vain. */
const LATEST_REPORT_MS = 7 * DAY_MS
/** By which the clock of a node may be ahead. */
const AHEAD_MS = HOUR_MS
/** Rows deleted in one transaction. */
const BATCH = 500

// Prepared: a busy server reports hundreds of hours a minute.
const subscriptionOf = prepare((queries) =>
  queries
    .select({ subscriptionId: sites.subscriptionId })
    .from(sites)
    .where(eq(sites.id, given('siteId'))),
)
const counted = prepare((queries) =>
  queries
    .select()
    .from(siteUsage)
    .where(and(eq(siteUsage.siteId, given('siteId')), eq(siteUsage.hour, given('hour')))),
)

export type UsageOptions = { store: ReadStore; clock: Clock; writeAs: WriteAs; siteAccess: SiteAccess }

export type Usage = ReturnType<typeof createUsage>

export function createUsage({ store, clock, writeAs, siteAccess }: UsageOptions) {
  /** @returns whether the batch is new */
  async function isNew(tx: Queries, nodeId: NodeId, batch: string): Promise<boolean> {
    const row = { nodeId: nodeId ?? 0, batch }
    const [last] = await tx.select().from(usageBatches).where(eq(usageBatches.nodeId, row.nodeId))
    if (last?.batch === batch) return false
    await tx.insert(usageBatches).values(row).onConflictDoUpdate({ target: usageBatches.nodeId, set: row })
    return true
  }

  function isPlausible({ hour }: HourUsage): boolean {
    const now = clock.now()
    return hour % HOUR_MS === 0 && hour <= now + AHEAD_MS && hour >= now - LATEST_REPORT_MS
  }

  async function add(tx: Queries, reported: HourUsage): Promise<void> {
    const { siteId, hour } = reported
    const row = plus(await counted.first(tx, { siteId, hour }), reported)
    const { siteId: _, hour: __, ...sums } = row
    await tx
      .insert(siteUsage)
      .values(row)
      .onConflictDoUpdate({ target: [siteUsage.siteId, siteUsage.hour], set: sums })
  }

  const writeAsPanel: Write = (work) => writeAs(panelItself, (tx) => work(tx))

  return {
    /**
     * Counts what a node reports, of its own sites alone, and each batch once.
     *
     * @param nodeId of the node that says so, by its credential
     * @param write proves the node, where it is on another machine
     */
    async take(nodeId: NodeId, { id, hours }: UsageBatch, write: Write = writeAsPanel): Promise<void> {
      await write(async (tx) => {
        if (!(await isNew(tx, nodeId, id))) return
        const own = new Map<number, boolean>()
        for (const reported of hours.slice(0, MAX_HOURS_OF_BATCH).filter(isPlausible)) {
          const { subscriptionId } = (await subscriptionOf.first(tx, { siteId: reported.siteId })) ?? {}
          if (subscriptionId === undefined) continue
          const isOwn = own.get(subscriptionId) ?? (await desired.isOn(tx, nodeId, subscriptionId))
          own.set(subscriptionId, isOwn)
          if (isOwn) await add(tx, reported)
        }
      })
    },

    /**
     * The hours of a site with any request, in order.
     *
     * @param from milliseconds since the epoch
     * @param to exclusive
     * @throws AppError `not_found`, `forbidden`
     */
    async list(caller: Caller, ref: SiteRef, { from, to }: { from: number; to: number }): Promise<HourRow[]> {
      const { site } = await siteAccess.find(store.read, caller, ref)
      return store.read
        .select()
        .from(siteUsage)
        .where(and(eq(siteUsage.siteId, site.id), gte(siteUsage.hour, from), lt(siteUsage.hour, to)))
        .orderBy(asc(siteUsage.hour))
    },

    /** Deletes some of the hours that are older than two months. @returns how many */
    prune: (deletableBefore: number): Promise<number> =>
      writeAs(panelItself, async (tx) => {
        const old = await tx
          .select({ siteId: siteUsage.siteId, hour: siteUsage.hour })
          .from(siteUsage)
          .where(lt(siteUsage.hour, deletableBefore - KEPT_MS))
          .orderBy(asc(siteUsage.hour))
          .limit(BATCH)
        for (const { siteId, hour } of old) {
          await tx.delete(siteUsage).where(and(eq(siteUsage.siteId, siteId), eq(siteUsage.hour, hour)))
        }
        return old.length
      }),
  }
}
