/** What nodes are to do for the certificates of sites. */
import { and, eq, inArray, isNull } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { SecretBox } from '../../../crypto/secret-box.ts'
import type { Queries } from '../../../db/store.ts'
import { certificateChallenges, certificates } from '../../../db/tables.ts'
import type { DesiredCertificate, DesiredTls } from '../../../node/protocol.ts'
import { chooseCertificate } from '../tls/choice.ts'
import { type IssuedCertificate, issuedCertificates, keyContext, namesOf } from '../tls/rows.ts'

type Named = { id: number; domain: string; aliases: string[] }

/** @returns by site, those that have anything */
export type ReadTls = (queries: Queries, sites: readonly Named[]) => Promise<Map<number, DesiredTls>>

export function createReadTls({ secretBox, clock }: { secretBox: SecretBox; clock: Clock }): ReadTls {
  function desired(certificate: IssuedCertificate, names: string[]): DesiredCertificate {
    const { id, siteId, chain, sealedKey, fingerprint } = certificate
    const key = sealedKey === null ? null : secretBox.open(sealedKey, keyContext(siteId, fingerprint ?? ''))
    return { id, names, chain, key }
  }

  /** One that serves no name is kept, with its key, while a name may come back to it. */
  function desiredCertificates({ domain, aliases }: Named, issued: IssuedCertificate[]): DesiredCertificate[] {
    const now = clock.now()
    const served = Map.groupBy([domain, ...aliases], (name) => chooseCertificate(issued, name, now)?.id)
    return issued
      .filter(({ id, source, notAfter }) => served.has(id) || (source === 'acme' && notAfter > now))
      .map((certificate) => desired(certificate, served.get(certificate.id) ?? []))
  }

  return async function readTls(queries, sites) {
    const ids = sites.map(({ id }) => id)
    const found = new Map<number, DesiredTls>()
    if (ids.length === 0) return found
    const of = (siteId: number): DesiredTls => {
      const tls = found.get(siteId) ?? { challenges: [], requests: [], certificates: [] }
      found.set(siteId, tls)
      return tls
    }
    const issued = Map.groupBy(await issuedCertificates(queries, ids), ({ siteId }) => siteId)
    for (const site of sites) {
      const own = issued.get(site.id)
      if (own) of(site.id).certificates = desiredCertificates(site, own)
    }
    for (const row of await requested(queries, ids)) of(row.siteId).requests.push({ id: row.id, names: namesOf(row) })
    for (const { siteId, token, answer } of await challenges(queries, ids))
      of(siteId).challenges.push({ token, answer })
    return found
  }
}

function requested(queries: Queries, siteIds: number[]) {
  return queries
    .select({ id: certificates.id, siteId: certificates.siteId, names: certificates.names })
    .from(certificates)
    .where(and(inArray(certificates.siteId, siteIds), eq(certificates.source, 'acme'), isNull(certificates.chain)))
}

function challenges(queries: Queries, siteIds: number[]) {
  return queries.select().from(certificateChallenges).where(inArray(certificateChallenges.siteId, siteIds))
}
