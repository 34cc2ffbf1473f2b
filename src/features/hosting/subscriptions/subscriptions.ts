/** Subscriptions: what a customer's sites belong to, with a limit. */
import { and, asc, eq, gt, type SQL, sql } from 'drizzle-orm'
import type { Actor, Caller } from '../../../core/actor.ts'
import { changesNothing, differences } from '../../../core/changes.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import type { Precondition } from '../../../core/precondition.ts'
import { boundSubscriptionOf } from '../../../core/principal.ts'
import { requireScope } from '../../../core/rights.ts'
import { isSet } from '../../../db/expressions.ts'
import { pieceOf, readPage } from '../../../db/page-reader.ts'
import { one } from '../../../db/statements.ts'
import type { Conclude, Queries, ReadStore } from '../../../db/store.ts'
import { apiKeys, sites, subscriptions, users } from '../../../db/tables.ts'
import { searchWindow } from '../../../db/window.ts'
import { desired, type NodeId } from '../../../node/desired-states.ts'
import { takeSubscriptionId } from '../../../node/installation.ts'
import { LIMITS, type Limits } from '../../../node/limits.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { Notify } from '../../account/notices.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Placement } from '../../operation/nodes/placement.ts'
import { type Subscription, subscriptionScope } from './scope.ts'

export type { Subscription } from './scope.ts'

type PhpColumns = 'phpWorkers' | 'phpMemoryMb' | 'phpSeconds' | 'phpUploadMb'

/** What it may take; see `Limits`, and `PhpLimits` for each site. */
export type LimitChanges = Partial<Limits & Pick<Subscription, PhpColumns>>

export type NewSubscription = LimitChanges & {
  userId: number
  name: string
  /** Undefined: a user's first subscription becomes the default, later ones do not. */
  isDefault: boolean | undefined
  /** 0 means no limit. */
  maxSites: number
  /** Null: the panel's own process; undefined: the node with the fewest subscriptions. */
  nodeId?: NodeId | undefined
}
export type SubscriptionChanges = LimitChanges & {
  /** Another user, who gets it together with its sites. */
  userId?: number
  name?: string
  status?: 'active' | 'suspended'
  maxSites?: number
  /** Makes this one the default; false is refused, since a customer always has one. */
  isDefault?: boolean
}

export type SubscriptionFilter = { id?: number; userId?: number; status?: Subscription['status'] }

export type SubscriptionsOptions = {
  store: ReadStore
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  notify: Notify
  placement: Placement
}

export type Subscriptions = ReturnType<typeof createSubscriptions>

export function createSubscriptions({ store, clock, audit, writeAs, notify, placement }: SubscriptionsOptions) {
  const find = (id: number, queries: Queries = store.read) => subscriptionScope.find(queries, id)

  async function list(page: PageRequest, { id, userId, status }: SubscriptionFilter): Promise<Page<Subscription>> {
    const filter = and(
      id === undefined ? undefined : eq(subscriptions.id, id),
      userId === undefined ? undefined : eq(subscriptions.userId, userId),
      status === undefined ? undefined : eq(subscriptions.status, status),
    )
    const read = (within: SQL | undefined, wanted: number) =>
      store.read.select().from(subscriptions).where(and(within, filter)).orderBy(asc(subscriptions.id)).limit(wanted)
    // A user has few, and they are indexed.
    const isSearch = status !== undefined && userId === undefined && id === undefined
    return readPage<Subscription>(store, page, async (afterId, wanted) =>
      isSearch
        ? searchWindow(store.read, subscriptions, { afterId, wanted }, read)
        : pieceOf(await read(gt(subscriptions.id, afterId), wanted), wanted),
    )
  }

  /** Removes the default from whichever has it, since an index allows one per user. */
  async function clearDefault(tx: Queries, userId: number): Promise<void> {
    await tx
      .update(subscriptions)
      .set({ isDefault: false, updatedAt: clock.now() })
      .where(and(eq(subscriptions.userId, userId), eq(subscriptions.isDefault, true)))
  }

  /** @throws AppError `not_found` for an unknown user */
  async function requireUser(tx: Queries, id: number): Promise<void> {
    const [user] = await tx.select({ id: users.id }).from(users).where(eq(users.id, id))
    if (!user) throw new AppError('not_found', 'user_id: no such user')
  }

  /** If a user has no default, the oldest subscription becomes it. */
  async function ensureDefault(tx: Queries, userId: number): Promise<void> {
    const [has] = await tx
      .select({ id: subscriptions.id })
      .from(subscriptions)
      .where(and(eq(subscriptions.userId, userId), isSet(subscriptions.isDefault)))
    if (has) return
    const [first] = await tx
      .select({ id: subscriptions.id })
      .from(subscriptions)
      .where(eq(subscriptions.userId, userId))
      .orderBy(asc(subscriptions.id))
      .limit(1)
    if (first) {
      const changes = { isDefault: true, updatedAt: clock.now() }
      await tx.update(subscriptions).set(changes).where(eq(subscriptions.id, first.id))
    }
  }

  return {
    list,

    /** The subscriptions of the caller's user, or only the one that a key is bound to. */
    async listOwn(page: PageRequest, caller: Caller): Promise<Page<Subscription>> {
      const id = boundSubscriptionOf(caller)
      return list(page, { userId: caller.userId, ...(id !== undefined && { id }) })
    },

    find,
    /** @throws AppError `not_found`, `forbidden` for another customer's or one outside the key's subscription */
    findOwn: (caller: Caller, id: number): Promise<Subscription> => subscriptionScope.findOwn(store.read, caller, id),

    /** @throws AppError `not_found` for an unknown user or node, `conflict` for a node that has not connected */
    async create(
      actor: Actor,
      { isDefault, nodeId: namedNode, ...values }: NewSubscription,
      conclude?: Conclude<Subscription>,
    ): Promise<Subscription> {
      const now = clock.now()
      return writeAs(actor, async (tx, actor) => {
        await requireUser(tx, values.userId)
        if (isDefault) await clearDefault(tx, values.userId)
        if (typeof namedNode === 'number') await placement.require(tx, namedNode)
        const nodeId = namedNode === undefined ? await placement.choose(tx) : namedNode
        const { id } = await one(
          tx
            .insert(subscriptions)
            .values({
              id: await takeSubscriptionId(tx),
              ...values,
              nodeId,
              isDefault: isDefault ?? false,
              status: 'active',
              createdAt: now,
              updatedAt: now,
            })
            .returning(),
        )
        // It makes a user of its own for it, even before there is a site.
        if (nodeId !== null) await desired.announceNew(tx, nodeId, id)
        await ensureDefault(tx, values.userId)
        await audit(tx, actor, {
          action: 'subscription.create',
          accountId: values.userId,
          target: { type: 'subscription', id },
          details: { name: values.name, maxSites: values.maxSites, ...(nodeId !== null && { nodeId }) },
        })
        const created = await find(id, tx)
        await conclude?.(tx, created)
        return created
      })
    },

    /**
     * @param caller who changes it: customers only change their own
     * @throws AppError `not_found`, `forbidden`, `precondition_failed`, `validation_error` when it would leave no
     * default
     */
    async change(
      caller: Caller,
      id: number,
      wanted: SubscriptionChanges,
      precondition?: Precondition<Subscription>,
    ): Promise<Subscription> {
      return writeAs(caller, async (tx, caller) => {
        const before = await subscriptionScope.findOwn(tx, caller, id)
        precondition?.(before)
        if (wanted.isDefault === false) {
          throw new AppError(
            'validation_error',
            'is_default: must be true; make another subscription the default instead',
          )
        }
        const { userId = before.userId } = wanted
        const moves = userId !== before.userId
        // The default of one user does not become the other's.
        const changes = { ...differences(before, wanted), ...(moves && wanted.isDefault && { isDefault: true }) }
        if (changesNothing(changes)) return before
        if (moves) await requireUser(tx, userId)
        if (changes.isDefault) await clearDefault(tx, userId)
        const isDefault = changes.isDefault ?? (!moves && before.isDefault)
        await tx
          .update(subscriptions)
          .set({ ...changes, isDefault, updatedAt: clock.now() })
          .where(eq(subscriptions.id, id))
        if (changesServing(changes)) {
          await tx
            .update(sites)
            .set({ generation: sql`${sites.generation} + 1` })
            .where(eq(sites.subscriptionId, id))
        }
        if (concernsNode(changes)) await desired.announce(tx, id)
        // A customer with subscriptions always has a default: either of the two users may lack one now.
        await ensureDefault(tx, before.userId)
        await ensureDefault(tx, userId)
        for (const accountId of new Set([before.userId, userId])) {
          await audit(tx, caller, {
            action: 'subscription.change',
            accountId,
            target: { type: 'subscription', id },
            details: changes,
          })
        }
        return find(id, tx)
      })
    },

    /**
     * Deletes a subscription and the API keys bound to it, and notifies its user. Its sites are deleted with it only if
     * that is asked for. If it was the default, the user's oldest other one takes its place.
     *
     * @param deleteSites whether its sites may go with it
     * @throws AppError `not_found`, `precondition_failed`, `conflict` if it has sites that may not be deleted,
     * `scope_missing` for a key with scopes that may not delete sites
     */
    async remove(
      caller: Caller,
      id: number,
      { deleteSites }: { deleteSites: boolean },
      precondition?: Precondition<Subscription>,
    ): Promise<void> {
      await writeAs(caller, async (tx, caller) => {
        if (deleteSites) requireScope(caller, 'sites:write')
        const found = await find(id, tx)
        precondition?.(found)
        const { userId, name } = found
        const siteCount = await tx.$count(sites, eq(sites.subscriptionId, id))
        if (siteCount > 0 && !deleteSites) throw hasSites(siteCount)
        const keyCount = await tx.$count(apiKeys, eq(apiKeys.subscriptionId, id))
        await tx.delete(subscriptions).where(eq(subscriptions.id, id))
        await ensureDefault(tx, userId)
        await notify(tx, userId, { kind: 'subscription_deleted', name, sites: siteCount, apiKeys: keyCount }, caller)
        await audit(tx, caller, {
          action: 'subscription.delete',
          accountId: userId,
          target: { type: 'subscription', id },
          details: { name, sites: siteCount, apiKeys: keyCount },
        })
      })
    },
  }
}

/** Whether its sites are served otherwise. */
const changesServing = (changes: SubscriptionChanges): boolean =>
  [changes.status, changes.phpWorkers, changes.phpMemoryMb, changes.phpSeconds, changes.phpUploadMb].some(
    (change) => change !== undefined,
  )

/** Whether its node has something to do with it. */
const concernsNode = (changes: SubscriptionChanges): boolean =>
  changesServing(changes) || Object.keys(LIMITS).some((name) => name in changes)

function hasSites(count: number): AppError {
  const sites = count === 1 ? 'a site, which' : `${count} sites, which`
  return new AppError(
    'conflict',
    `The subscription has ${sites} would be deleted with it: delete them first, or send delete_sites=true`,
  )
}
