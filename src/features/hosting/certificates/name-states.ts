/** How each name stands for which a certificate failed, and when it may be tried again: stored, so that a restart tries nothing early. */
import { eq, inArray, lt } from 'drizzle-orm'
import type { Queries } from '../../../db/store.ts'
import { certificateNames } from '../../../db/tables.ts'

export type NameRow = typeof certificateNames.$inferSelect

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
/** After the first failure in a row, the second, … Authorities count failures: five an hour and name at Let's Encrypt. */
const DELAYS_MS = [HOUR_MS, 6 * HOUR_MS, DAY_MS, 3 * DAY_MS]

/** @returns by name */
export async function readNameStates(queries: Queries, names: readonly string[]): Promise<Map<string, NameRow>> {
  if (names.length === 0) return new Map()
  const rows = await queries
    .select()
    .from(certificateNames)
    .where(inArray(certificateNames.name, [...names]))
  return new Map(rows.map((row) => [row.name, row]))
}

export type Failed = {
  name: string
  state: NameRow['state']
  reason: string | null
  /** The row before the attempt. */
  before: NameRow | undefined
  /** Milliseconds since the epoch. */
  now: number
  /** How long an authority wants to be left alone. */
  atLeastMs?: number | undefined
}

export async function writeFailure(tx: Queries, { name, state, reason, before, now, atLeastMs = 0 }: Failed) {
  const failures = (before?.failures ?? 0) + 1
  const delayMs = Math.max(DELAYS_MS[Math.min(failures, DELAYS_MS.length) - 1] ?? 0, atLeastMs)
  await write(tx, { name, state, reason, failures, retryAt: now + delayMs, attemptedAt: now })
}

/** As if nothing had been tried. */
export async function writeBack(tx: Queries, name: string, before: NameRow | undefined): Promise<void> {
  if (before) await write(tx, before)
  else await forgetName(tx, name)
}

/** Names that no site has had for long: one that has would have been tried again. @param before milliseconds since the epoch */
export async function forgetOldNames(tx: Queries, before: number): Promise<void> {
  await tx.delete(certificateNames).where(lt(certificateNames.retryAt, before))
}

export async function forgetName(tx: Queries, name: string): Promise<void> {
  await tx.delete(certificateNames).where(eq(certificateNames.name, name))
}

async function write(tx: Queries, row: NameRow): Promise<void> {
  await tx.insert(certificateNames).values(row).onConflictDoUpdate({ target: certificateNames.name, set: row })
}
