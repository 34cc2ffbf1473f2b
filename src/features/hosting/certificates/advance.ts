/** Brings the certificates of a site forward: checks its names, orders for those that lead here, forgets what is needless. */
import { eq } from 'drizzle-orm'
import { panelItself } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import type { ReadStore } from '../../../db/store.ts'
import { certificates } from '../../../db/tables.ts'
import type { Log } from '../../../log/log.ts'
import { desired, type NodeId } from '../../../node/desired-states.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordEvent } from '../events/events.ts'
import { type IssuedCertificate, issuedCertificates } from '../tls/rows.ts'
import { refreshTls } from '../tls/summary.ts'
import { SilentNodeError } from './challenges.ts'
import type { CheckNames } from './check-names.ts'
import { readNameStates, writeFailure } from './name-states.ts'
import { NEVER, needsOf } from './needs.ts'
import type { Order } from './order.ts'
import { type CertifiedSite, readSite } from './site.ts'

export type AdvanceOptions = {
  store: ReadStore
  writeAs: WriteAs
  clock: Clock
  log: Log
  recordEvent: RecordEvent
  checkNames: CheckNames
  /** Undefined where the operator has configured no authority. */
  order: Order | undefined
}

/** Of a site whose node does not answer. */
const SILENT_MS = 5 * 60 * 1000
/** After a failure of the panel itself. */
const FAULT_MS = 15 * 60 * 1000

export function createAdvance({ store, writeAs, clock, log, recordEvent, checkNames, order }: AdvanceOptions) {
  /** By node: one that did not answer is not asked before then. */
  const silentUntil = new Map<NodeId, number>()

  async function look(site: CertifiedSite) {
    const issued = await issuedCertificates(store.read, [site.id])
    const failed = await readNameStates(store.read, site.names)
    return { ...needsOf(site.names, issued, failed, clock.now()), failed }
  }

  /** @returns the names that lead to the node of the site; what is wrong with the others is written down */
  async function verified(site: CertifiedSite, names: string[], signal: AbortSignal): Promise<string[]> {
    const reasons = await checkNames(site, names, signal)
    const wrong = names.filter((name) => reasons.get(name) !== undefined)
    if (wrong.length > 0 && !signal.aborted) {
      await writeAs(panelItself, async (tx) => {
        const before = await readNameStates(tx, wrong)
        const now = clock.now()
        for (const name of wrong) {
          const reason = reasons.get(name) ?? null
          const known = before.get(name)
          await writeFailure(tx, { name, state: 'unverified', reason, before: known, now })
          if (known?.reason === reason) continue
          await recordEvent(tx, { site, kind: 'certificate.failed', details: { name, reason }, at: now })
        }
        await refreshTls(tx, site.id, now)
      })
    }
    return names.filter((name) => reasons.get(name) === undefined)
  }

  /** What is left to do where nothing is to be ordered. */
  async function tidy(site: CertifiedSite): Promise<void> {
    await writeAs(panelItself, async (tx) => {
      const now = clock.now()
      const issued = await issuedCertificates(tx, [site.id])
      const needless = issued.filter((one) => isNeedless(one, issued, site, now))
      for (const { id } of needless) await tx.delete(certificates).where(eq(certificates.id, id))
      if (needless.length > 0) await desired.announce(tx, site.subscriptionId)
      await refreshTls(tx, site.id, now)
    })
  }

  async function advanceOnce(site: CertifiedSite, signal: AbortSignal): Promise<number> {
    const { ready, nextAt } = await look(site)
    if (!order || ready.length === 0) {
      await tidy(site)
      return nextAt
    }
    const names = await verified(site, ready, signal)
    if (names.length > 0 && !signal.aborted) await order(site, names, signal)
    return 0
  }

  /** @returns when to look at the site again, in milliseconds since the epoch */
  return async function advance(siteId: number, signal: AbortSignal): Promise<number> {
    const site = await readSite(store.read, siteId)
    if (!site || site.isDeleting) return NEVER
    // Its other sites would wait too, and hold up those of other nodes.
    const silent = silentUntil.get(site.nodeId) ?? 0
    if (silent > clock.now()) return silent
    try {
      return await advanceOnce(site, signal)
    } catch (error) {
      if (signal.aborted) return 0
      if (error instanceof SilentNodeError) {
        const until = clock.now() + SILENT_MS
        silentUntil.set(site.nodeId, until)
        return until
      }
      log.error({ err: error, site_id: siteId }, 'the certificates of a site could not be seen to')
      return clock.now() + FAULT_MS
    }
  }
}

/** One of an authority, all of whose names are served with later ones, or that has expired and has no name of the site. */
function isNeedless(one: IssuedCertificate, all: readonly IssuedCertificate[], site: CertifiedSite, now: number) {
  if (one.source === 'uploaded') return false
  if (one.notAfter <= now && !one.names.some((name) => site.names.includes(name))) return true
  const later = all.filter(({ id, isServed, notAfter }) => id > one.id && isServed && notAfter > now)
  return one.names.every((name) => later.some(({ names }) => names.includes(name)))
}

export type Advance = ReturnType<typeof createAdvance>
