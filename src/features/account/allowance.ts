/** Allowances of an account: a few uses are free, each further one has to wait longer, and the count decays. */
import { and, eq, inArray, lte, sql } from 'drizzle-orm'
import { given, prepare } from '../../db/statements.ts'
import type { Queries } from '../../db/store.ts'
import { allowances } from '../../db/tables.ts'
import { type Backoff, delayAfter } from '../../jobs/backoff.ts'

/**
 * The first delay follows the last free use. One use is forgotten per longest delay, so an attack gets one use in each.
 */
export type AllowancePolicy = Backoff & {
  /** Uses without a delay. */
  free: number
}

/** The stored state of an allowance; times in milliseconds since the epoch. */
export type UsedAllowance = { emptyAt: number; usedAt: number }

/** How many uses an allowance remembers: enough to reach the longest delay. */
export function mostUses({ free, firstDelayMs, longestDelayMs }: AllowancePolicy): number {
  return free + Math.ceil(Math.log2(longestDelayMs / firstDelayMs))
}

/** @returns the uses not yet forgotten, with a fraction for the one that is fading */
export function usesOf(policy: AllowancePolicy, used: UsedAllowance | undefined, nowMs: number): number {
  const periods = ((used?.emptyAt ?? 0) - nowMs) / policy.longestDelayMs
  // Uses beyond the maximum were recorded while the clock was ahead.
  return Math.min(Math.max(periods, 0), mostUses(policy))
}

/** @returns the state after one more use; undefined if it is too early for one */
export function spendAllowance(
  policy: AllowancePolicy,
  used: UsedAllowance | undefined,
  nowMs: number,
): UsedAllowance | undefined {
  if (nextUseAt(policy, used, nowMs) !== undefined) return undefined
  const uses = usesOf(policy, used, nowMs)
  return { emptyAt: Math.ceil(nowMs + (uses + 1) * policy.longestDelayMs), usedAt: nowMs }
}

/** @returns when the next use is possible, in milliseconds since the epoch; undefined if that is now */
export function nextUseAt(policy: AllowancePolicy, used: UsedAllowance | undefined, nowMs: number): number | undefined {
  // A use in the future was recorded while the clock was ahead: no client has to wait for that time.
  if (used === undefined || used.usedAt > nowMs) return undefined
  const uses = Math.ceil(usesOf(policy, used, nowMs))
  const at = used.usedAt + (uses < policy.free ? 0 : delayAfter(policy, uses - policy.free + 1))
  return at > nowMs ? at : undefined
}

const isOfUser = eq(allowances.userId, given('userId'))
/** Names that one query can look up. */
const NAMES = ['name0', 'name1', 'name2'] as const

const findAllowances = prepare((queries) =>
  queries
    .select({ name: allowances.name, emptyAt: allowances.emptyAt, usedAt: allowances.usedAt })
    .from(allowances)
    .where(
      and(
        isOfUser,
        inArray(
          allowances.name,
          NAMES.map((name) => sql.placeholder(name)),
        ),
      ),
    ),
)
const storeAllowance = prepare((tx) =>
  tx
    .insert(allowances)
    .values({ userId: given('userId'), name: given('name'), emptyAt: given('emptyAt'), usedAt: given('usedAt') })
    .onConflictDoUpdate({
      target: [allowances.userId, allowances.name],
      set: { emptyAt: given('emptyAt'), usedAt: given('usedAt') },
    }),
)
const forgetAllowance = prepare((tx) => tx.delete(allowances).where(and(isOfUser, eq(allowances.name, given('name')))))
const forgetAllBeginning = prepare((tx) =>
  tx
    .delete(allowances)
    .where(and(isOfUser, sql`substr(${allowances.name}, 1, length(${given('prefix')})) = ${given('prefix')}`)),
)
const sweep = prepare((tx) => tx.delete(allowances).where(lte(allowances.emptyAt, given('nowMs'))))

/** @param names at most three */
export async function readAllowances(
  queries: Queries,
  userId: number,
  names: readonly string[],
): Promise<Map<string, UsedAllowance>> {
  const asked = Object.fromEntries(NAMES.map((placeholder, i) => [placeholder, names[i] ?? '']))
  const rows = await findAllowances.all(queries, { userId, ...asked })
  return new Map(rows.map(({ name, ...used }) => [name, used]))
}

export async function writeAllowance(tx: Queries, userId: number, name: string, used: UsedAllowance): Promise<void> {
  await storeAllowance.run(tx, { userId, name, ...used })
}

/** Forgets the uses of one allowance. */
export async function resetAllowance(tx: Queries, userId: number, name: string): Promise<void> {
  await forgetAllowance.run(tx, { userId, name })
}

/** Forgets the uses of all allowances of a user whose names have this prefix. */
export async function resetAllowances(tx: Queries, userId: number, prefix: string): Promise<void> {
  await forgetAllBeginning.run(tx, { userId, prefix })
}

/** Deletes allowances whose uses have all been forgotten. */
export async function sweepAllowances(tx: Queries, nowMs: number): Promise<void> {
  await sweep.run(tx, { nowMs })
}
