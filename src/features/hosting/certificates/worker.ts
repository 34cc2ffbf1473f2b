/** Sees to the sites whose certificates are due, some at a time, for as long as the panel serves. */
import { and, asc, eq, gt, isNotNull, isNull, lte } from 'drizzle-orm'
import { panelItself } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { pause } from '../../../core/pause.ts'
import type { CommitSignal } from '../../../db/commit-signal.ts'
import type { ReadStore } from '../../../db/store.ts'
import { certificateChallenges, certificateNames, certificates, certificateWork, sites } from '../../../db/tables.ts'
import type { Log } from '../../../log/log.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { Advance } from './advance.ts'
import { NEVER } from './needs.ts'
import { INTERRUPTED } from './order.ts'

export type WorkerOptions = {
  store: ReadStore
  writeAs: WriteAs
  commits: CommitSignal
  clock: Clock
  log: Log
  advance: Advance
  /** Whether the panel's own process serves sites over HTTPS; nodes always do. */
  isServedHere(): boolean
}

/** Sites at a time: most of it is waiting for others. */
const SIDE_BY_SIDE = 4
/** For what becomes due as time passes. */
const POLL_MS = 30_000
/** Several changes in a row are seen at once. */
const SETTLE_MS = 50
/** For so long a site belongs to one run, unless that ends sooner. */
const LEASE_MS = 60 * 60 * 1000

export function createWorker({ store, writeAs, commits, clock, log, advance, isServedHere }: WorkerOptions) {
  const stopping = new AbortController()
  /** Sites that are seen to now. */
  const inHand = new Map<number, Promise<void>>()
  let running: Promise<void> | undefined

  const ofSite = (siteId: number) => eq(certificateWork.siteId, siteId)

  async function due(): Promise<number[]> {
    const rows = await store.read
      .select({ siteId: certificateWork.siteId })
      .from(certificateWork)
      .innerJoin(sites, eq(sites.id, certificateWork.siteId))
      .where(and(lte(certificateWork.dueAt, clock.now()), isServedHere() ? undefined : isNotNull(sites.nodeId)))
      .orderBy(asc(certificateWork.dueAt))
      .limit(2 * SIDE_BY_SIDE)
    return rows.map(({ siteId }) => siteId)
  }

  async function see(siteId: number): Promise<void> {
    const lease = clock.now() + LEASE_MS
    const setDue = (dueAt: number, where = ofSite(siteId)) =>
      writeAs(panelItself, (tx) => tx.update(certificateWork).set({ dueAt }).where(where))
    await setDue(lease)
    const next = await advance(siteId, stopping.signal)
    // Unless it has become due for another reason since.
    await setDue(next, and(ofSite(siteId), eq(certificateWork.dueAt, lease)))
  }

  /** Begins with as many as may be seen to at a time, without waiting for them. */
  async function fill(): Promise<void> {
    for (const siteId of await due()) {
      if (inHand.has(siteId) || inHand.size >= SIDE_BY_SIDE || stopping.signal.aborted) continue
      const seen = see(siteId)
        .catch((err) => log.error({ err, site_id: siteId }, 'the certificates of a site could not be seen to'))
        .finally(() => inHand.delete(siteId))
      inHand.set(siteId, seen)
    }
  }

  /** What was under way when the panel ended. */
  async function recover(): Promise<void> {
    await writeAs(panelItself, async (tx) => {
      const now = clock.now()
      await tx.delete(certificateChallenges)
      await tx.delete(certificates).where(and(eq(certificates.source, 'acme'), isNull(certificates.chain)))
      await tx
        .update(certificateNames)
        .set({ state: 'failed', reason: INTERRUPTED })
        .where(eq(certificateNames.state, 'ordering'))
      // Leases, and sites that were not served over HTTPS before.
      const isLeased = and(gt(certificateWork.dueAt, now), lte(certificateWork.dueAt, now + LEASE_MS))
      await tx.update(certificateWork).set({ dueAt: 0 }).where(isLeased)
      await tx.update(certificateWork).set({ dueAt: 0 }).where(eq(certificateWork.dueAt, NEVER))
    })
  }

  async function run(): Promise<void> {
    await recover()
    while (!stopping.signal.aborted) {
      const woken = new AbortController()
      const signal = AbortSignal.any([woken.signal, stopping.signal])
      const change = commits.next(signal)
      await fill()
      await Promise.race([change, pause(POLL_MS, signal)])
      woken.abort()
      await pause(SETTLE_MS, stopping.signal)
    }
  }

  return {
    start(): void {
      running ??= run().catch((err) => log.error({ err }, 'certificates of sites are no longer seen to'))
    },

    /** Resolves when nothing is due, and nothing is seen to. */
    async seeToDue(): Promise<void> {
      do {
        await fill()
        await Promise.all(inHand.values())
      } while (inHand.size > 0 || (await due()).length > 0)
    },

    /** What is being ordered is given up, and tried again later. */
    async stop(): Promise<void> {
      stopping.abort()
      await running
      await Promise.all(inHand.values())
    },
  }
}
