/** Writes down what is shown of a site's certificates, whenever something about them has changed. */
import { and, asc, eq, inArray } from 'drizzle-orm'
import type { Queries } from '../../../db/store.ts'
import { certificateNames, siteDomains, sites } from '../../../db/tables.ts'
import { chooseCertificate, coversName } from './choice.ts'
import { type IssuedCertificate, issuedCertificates } from './rows.ts'
import type { StoredName, StoredTls } from './state.ts'

type NameRow = typeof certificateNames.$inferSelect

/** Passed to the features that change certificates. */
export type RefreshTls = typeof refreshTls

/** @param now milliseconds since the epoch */
export async function refreshTls(tx: Queries, siteId: number, now: number): Promise<void> {
  const names = (
    await tx
      .select({ name: siteDomains.domain })
      .from(siteDomains)
      .where(eq(siteDomains.siteId, siteId))
      .orderBy(asc(siteDomains.position))
  ).map(({ name }) => name)
  const rows = await tx.select().from(certificateNames).where(inArray(certificateNames.name, names))
  const tls = JSON.stringify(summary(names, await issuedCertificates(tx, [siteId]), rows, now))
  await tx
    .update(sites)
    .set({ tls })
    .where(and(eq(sites.id, siteId)))
}

function summary(names: string[], issued: IssuedCertificate[], rows: NameRow[], now: number): StoredTls {
  const used = names.flatMap((name) => chooseCertificate(issued, name, now) ?? [])
  const stored = names.flatMap((name): [string, StoredName][] => {
    const state = stateOf(
      issued.filter((certificate) => coversName(certificate.names, name)),
      rows.find((row) => row.name === name),
      now,
    )
    return state ? [[name, state]] : []
  })
  return {
    names: Object.fromEntries(stored),
    notAfter: used.length === 0 ? null : Math.min(...used.map(({ notAfter }) => notAfter)),
    issuer: used[0]?.issuer ?? null,
  }
}

/** @param covering the certificates for the name */
function stateOf(covering: IssuedCertificate[], row: NameRow | undefined, now: number): StoredName | undefined {
  const trouble = { reason: row?.reason ?? null, retryAt: row?.retryAt ?? null }
  const valid = covering.filter(({ notAfter }) => notAfter > now)
  if (valid.some(({ isServed }) => isServed)) return { state: 'active', ...trouble }
  if (valid.length > 0) return { state: 'ordering', reason: null, retryAt: null }
  if (covering.length > 0 && row?.state !== 'ordering') return { state: 'expired', ...trouble }
  if (!row) return undefined
  return { state: row.state, reason: row.reason, retryAt: row.state === 'ordering' ? null : row.retryAt }
}
