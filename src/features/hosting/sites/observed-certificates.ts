/** Takes what a node reports on certificates: its requests, the challenges it answers, what it serves, and lost keys. */
import { and, eq } from 'drizzle-orm'
import type { Queries } from '../../../db/store.ts'
import { certificateChallenges, certificateNames, certificates, certificateWork, sites } from '../../../db/tables.ts'
import { desired, type NodeId } from '../../../node/desired-states.ts'
import type { CertificateReport } from '../../../node/protocol.ts'
import type { RecordEvent } from '../events/events.ts'
import { namesOf } from '../tls/rows.ts'
import { refreshTls } from '../tls/summary.ts'

type SiteRow = typeof sites.$inferSelect
type CertificateRow = typeof certificates.$inferSelect

/** Base64 of a request for a hundred names of the greatest length, and more. */
const CSR = /^[A-Za-z0-9+/=]{1,65536}$/
/** A node that says again and again that it has lost a key must not use up what its authority issues. */
const ONE_LOSS_MS = 24 * 60 * 60 * 1000

/**
 * @param now milliseconds since the epoch
 * @returns whether it is about a certificate of this node
 */
export async function takeCertificate(
  tx: Queries,
  nodeId: NodeId,
  report: CertificateReport,
  now: number,
  recordEvent: RecordEvent,
): Promise<boolean> {
  const site = await siteOn(tx, nodeId, report.siteId)
  if (!site) return false
  const ofReport = and(eq(certificates.id, report.certificateId), eq(certificates.siteId, site.id))
  const [row] = await tx.select().from(certificates).where(ofReport)
  if (!row) return false
  if (report.state === 'requested') await takeRequest(tx, row, report.csr)
  else if (row.chain === null) return false
  else if (report.state === 'serving') await takeServed(tx, site, row, now, recordEvent)
  else if (row.source === 'acme') await takeLostKey(tx, site, row, now)
  return true
}

/** @returns whether it is about a site of this node */
export async function takeChallenge(
  tx: Queries,
  nodeId: NodeId,
  { siteId, token }: { siteId: number; token: string },
): Promise<boolean> {
  if (!(await siteOn(tx, nodeId, siteId))) return false
  await tx
    .update(certificateChallenges)
    .set({ isInPlace: true })
    .where(and(eq(certificateChallenges.token, token), eq(certificateChallenges.siteId, siteId)))
  return true
}

async function siteOn(tx: Queries, nodeId: NodeId, siteId: number): Promise<SiteRow | undefined> {
  const [site] = await tx.select().from(sites).where(eq(sites.id, siteId))
  return site && (await desired.isOn(tx, nodeId, site.subscriptionId)) ? site : undefined
}

/** The first one counts: its key is the one that the node keeps. */
async function takeRequest(tx: Queries, { id, csr, chain }: CertificateRow, reported: string): Promise<void> {
  if (csr !== null || chain !== null || !CSR.test(reported)) return
  await tx.update(certificates).set({ csr: reported }).where(eq(certificates.id, id))
}

async function takeServed(
  tx: Queries,
  site: SiteRow,
  row: CertificateRow,
  now: number,
  recordEvent: RecordEvent,
): Promise<void> {
  if (row.isServed) return
  await tx.update(certificates).set({ isServed: true }).where(eq(certificates.id, row.id))
  await refreshTls(tx, site.id, now)
  // The one that it replaces is needed no longer.
  await tx.update(certificateWork).set({ dueAt: 0 }).where(eq(certificateWork.siteId, site.id))
  const details = { names: namesOf(row), issuer: row.issuer, fingerprint: row.fingerprint }
  await recordEvent(tx, { site, kind: 'certificate.active', details, at: now })
}

/** Another one is ordered, with another key. */
async function takeLostKey(tx: Queries, site: SiteRow, row: CertificateRow, now: number): Promise<void> {
  await tx.delete(certificates).where(eq(certificates.id, row.id))
  const retryAt = Math.max(now, row.createdAt + ONE_LOSS_MS)
  for (const name of namesOf(row)) {
    const lost = { state: 'failed' as const, reason: LOST, failures: 1, retryAt, attemptedAt: row.createdAt }
    await tx
      .insert(certificateNames)
      .values({ name, ...lost })
      .onConflictDoUpdate({ target: certificateNames.name, set: lost })
  }
  await tx.update(certificateWork).set({ dueAt: 0 }).where(eq(certificateWork.siteId, site.id))
  await refreshTls(tx, site.id, now)
  await desired.announce(tx, site.subscriptionId)
}

const LOST = 'The server no longer has the key of the certificate; it orders another one'
