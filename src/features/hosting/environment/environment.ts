/** Environment variables of a site: sealed, told to the node whose PHP finds them, and never shown again. */
import { and, asc, count, eq, inArray, ne, sum } from 'drizzle-orm'
import type { Caller } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Precondition } from '../../../core/precondition.ts'
import type { SecretBox } from '../../../crypto/secret-box.ts'
import { one } from '../../../db/statements.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { sites, siteVariables } from '../../../db/tables.ts'
import { bytesOf, MAX_ENVIRONMENT_BYTES } from '../../../node/environment.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import { variableContext } from '../environment-of-php.ts'
import type { FoundSite, SiteAccess, SiteRef } from '../site-access.ts'
import type { ChangeEnvironment } from '../sites/change-environment.ts'

/** What is shown of a variable. */
export type ShownVariable = Pick<typeof siteVariables.$inferSelect, 'name' | 'fingerprint' | 'updatedAt'>
/** `null`: the value that it has. */
export type WantedVariable = { name: string; value: string | null }

type Row = typeof siteVariables.$inferSelect

/**
 * Of all sites of a subscription, whose PHP is one process with all of them in its environment: Linux starts none with more
 * than a quarter of its stack, which is 2 MiB.
 */
const MAX_BYTES_OF_SUBSCRIPTION = 1024 * 1024
/** What a variable takes beside its name and value there, and more. */
const OVERHEAD_BYTES = 32

export type EnvironmentOptions = {
  store: ReadStore
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  siteAccess: SiteAccess
  secretBox: SecretBox
  changeEnvironment: ChangeEnvironment
}

export type Environment = ReturnType<typeof createEnvironment>

export function createEnvironment(options: EnvironmentOptions) {
  const { store, clock, audit, writeAs, siteAccess, secretBox, changeEnvironment } = options

  function sealedRow(siteId: number, name: string, value: string): Row {
    const context = variableContext(siteId, name)
    return {
      siteId,
      name,
      sealed: secretBox.seal(value, context),
      fingerprint: secretBox.fingerprint(value, context),
      bytes: bytesOf({ name, value }),
      updatedAt: clock.now(),
    }
  }

  /** @throws AppError `validation_error` for a value that is to be kept where there is none, and for too much in all */
  function rowsOf(siteId: number, before: readonly Row[], wanted: readonly WantedVariable[]): Row[] {
    const known = new Map(before.map((row) => [row.name, row]))
    const rows = wanted.map(({ name, value }, index) => {
      const present = known.get(name)
      if (value === null && !present) {
        throw new AppError('validation_error', `variables.${index}.value: is null, and ${name} has no value to keep`)
      }
      const row = value === null ? undefined : sealedRow(siteId, name, value)
      // The same value again is no change.
      return row && row.fingerprint !== present?.fingerprint ? row : (present ?? row)
    }) as Row[]
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0)
    if (bytes <= MAX_ENVIRONMENT_BYTES) return rows
    const most = `at most ${MAX_ENVIRONMENT_BYTES} bytes`
    throw new AppError('validation_error', `variables: must have ${most} in all names and values together`)
  }

  /** @throws AppError `conflict` */
  async function requireRoom(tx: Queries, { site, subscription }: FoundSite, rows: readonly Row[]): Promise<void> {
    const others = await one(
      tx
        .select({ variables: count(), bytes: sum(siteVariables.bytes).mapWith(Number) })
        .from(siteVariables)
        .innerJoin(sites, eq(sites.id, siteVariables.siteId))
        .where(and(eq(sites.subscriptionId, subscription.id), ne(sites.id, site.id))),
    )
    const own = rows.reduce((sum, row) => sum + row.bytes + OVERHEAD_BYTES, 0)
    if ((others.bytes ?? 0) + others.variables * OVERHEAD_BYTES + own <= MAX_BYTES_OF_SUBSCRIPTION) return
    throw new AppError('conflict', 'The sites of this subscription have as many variables as can be; delete some first')
  }

  async function write(tx: Queries, siteId: number, before: readonly Row[], rows: readonly Row[]): Promise<string[]> {
    const kept = new Set(rows.map(({ name }) => name))
    const removed = before.filter(({ name }) => !kept.has(name)).map(({ name }) => name)
    const changed = rows.filter((row) => !before.includes(row))
    const names = [...changed.map(({ name }) => name), ...removed]
    if (names.length > 0) {
      const ofSite = eq(siteVariables.siteId, siteId)
      await tx.delete(siteVariables).where(and(ofSite, inArray(siteVariables.name, names)))
    }
    if (changed.length > 0) await tx.insert(siteVariables).values(changed)
    return names.sort()
  }

  async function replace(
    tx: Queries,
    caller: Caller,
    { site, subscription }: FoundSite,
    before: readonly Row[],
    rows: readonly Row[],
  ): Promise<void> {
    const names = await write(tx, site.id, before, rows)
    if (names.length === 0) return
    await changeEnvironment(tx, site, { names, at: clock.now() })
    await audit(tx, caller, {
      action: 'site.environment',
      accountId: subscription.userId,
      target: { type: 'site', id: site.id },
      details: { names },
    })
  }

  return {
    /** @returns by name @throws AppError `not_found`, `forbidden` */
    async list(caller: Caller, ref: SiteRef): Promise<ShownVariable[]> {
      await siteAccess.find(store.read, caller, ref)
      return readRows(store.read, ref.id)
    },

    /**
     * Replaces all variables. Those that are what they were stay untouched, with the time of their last change.
     *
     * @throws AppError `not_found`, `forbidden`, `validation_error`, `precondition_failed`, and `conflict` for a site that is
     * suspended or being deleted, and beyond what a subscription may have
     */
    replace: (
      caller: Caller,
      ref: SiteRef,
      wanted: readonly WantedVariable[],
      precondition?: Precondition<ShownVariable[]>,
    ): Promise<ShownVariable[]> =>
      writeAs(caller, async (tx, caller) => {
        const found = await siteAccess.find(tx, caller, ref)
        const before = await readRows(tx, found.site.id)
        precondition?.(before)
        if (found.subscription.status !== 'active') throw new AppError('conflict', 'The subscription is suspended')
        if (found.site.isDeleting) throw new AppError('conflict', 'The site is being deleted')
        const rows = rowsOf(found.site.id, before, wanted)
        await requireRoom(tx, found, rows)
        await replace(tx, caller, found, before, rows)
        return readRows(tx, found.site.id)
      }),

    /** In a suspended subscription too. @throws AppError `not_found`, `forbidden`, `precondition_failed` */
    remove: (caller: Caller, ref: SiteRef, precondition?: Precondition<ShownVariable[]>): Promise<void> =>
      writeAs(caller, async (tx, caller) => {
        const found = await siteAccess.find(tx, caller, ref)
        const before = await readRows(tx, found.site.id)
        precondition?.(before)
        await replace(tx, caller, found, before, [])
      }),
  }
}

const readRows = (queries: Queries, siteId: number): Promise<Row[]> =>
  queries.select().from(siteVariables).where(eq(siteVariables.siteId, siteId)).orderBy(asc(siteVariables.name))
