/** Reads the certificates of sites, as far as they are issued. */
import { and, inArray, isNotNull } from 'drizzle-orm'
import type { Queries } from '../../../db/store.ts'
import { certificates } from '../../../db/tables.ts'

type Row = typeof certificates.$inferSelect

export type IssuedCertificate = Omit<Row, 'names' | 'chain' | 'notAfter'> & {
  names: string[]
  chain: string
  notAfter: number
}

export async function issuedCertificates(queries: Queries, siteIds: readonly number[]): Promise<IssuedCertificate[]> {
  if (siteIds.length === 0) return []
  const rows = await queries
    .select()
    .from(certificates)
    .where(and(inArray(certificates.siteId, [...siteIds]), isNotNull(certificates.chain)))
  return rows.map((row) => ({ ...row, names: namesOf(row), chain: row.chain ?? '', notAfter: row.notAfter ?? 0 }))
}

export const namesOf = ({ names }: Pick<Row, 'names'>): string[] => JSON.parse(names) as string[]

/** What a sealed key belongs to: it opens for this certificate of this site alone. */
export const keyContext = (siteId: number, fingerprint: string): string => `certificate ${siteId} ${fingerprint}`
