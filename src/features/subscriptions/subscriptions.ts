/** Subscriptions: what a customer's sites belong to, with a limit. */
import { and, asc, eq, gt } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { type Page, type PageRequest, pageOf } from '../../core/page.ts'
import type { Principal } from '../../core/principal.ts'
import type { Queries, Store } from '../../db/store.ts'
import { subscriptions, users } from '../../db/tables.ts'

export type Subscription = typeof subscriptions.$inferSelect

export type NewSubscription = {
  userId: number
  name: string
  /** Undefined: the first of a user is the default, later ones are not. */
  isDefault: boolean | undefined
  /** 0 means no limit. */
  maxSites: number
}
export type SubscriptionChanges = {
  name?: string
  status?: 'active' | 'suspended'
  maxSites?: number
  /** Moves the default here; false is refused, since a customer always has one. */
  isDefault?: boolean
}

export type Subscriptions = ReturnType<typeof createSubscriptions>

export function createSubscriptions({ store, clock }: { store: Store; clock: Clock }) {
  async function find(id: number, queries: Queries = store.read): Promise<Subscription> {
    const [subscription] = await queries.select().from(subscriptions).where(eq(subscriptions.id, id))
    if (!subscription) throw new AppError('not_found', 'No such subscription')
    return subscription
  }

  async function list(page: PageRequest, userId?: number): Promise<Page<Subscription>> {
    const rows = await store.read
      .select()
      .from(subscriptions)
      .where(
        and(userId === undefined ? undefined : eq(subscriptions.userId, userId), gt(subscriptions.id, page.afterId)),
      )
      .orderBy(asc(subscriptions.id))
      .limit(page.limit + 1)
    return pageOf(rows, page)
  }

  /** Takes the default away from whichever has it, since an index allows one a user. */
  async function clearDefault(tx: Queries, userId: number): Promise<void> {
    await tx
      .update(subscriptions)
      .set({ isDefault: false, updatedAt: clock.now() })
      .where(and(eq(subscriptions.userId, userId), eq(subscriptions.isDefault, true)))
  }

  return {
    list,
    find,

    /** @throws AppError `not_found`, `forbidden` for another customer's */
    async findOwn(principal: Principal, id: number): Promise<Subscription> {
      const subscription = await find(id)
      if (principal.role !== 'admin' && subscription.userId !== principal.userId) {
        throw new AppError('forbidden', 'This subscription belongs to another customer')
      }
      return subscription
    },

    /** The subscription a customer means by naming none. @throws AppError `not_found` for a customer who has none */
    async findDefault(userId: number): Promise<Subscription> {
      const [subscription] = await store.read
        .select()
        .from(subscriptions)
        .where(and(eq(subscriptions.userId, userId), eq(subscriptions.isDefault, true)))
      if (!subscription) throw new AppError('not_found', 'You have no subscription; ask your provider for one')
      return subscription
    },

    /** @throws AppError `not_found` for an unknown user */
    async create({ isDefault, ...values }: NewSubscription): Promise<Subscription> {
      const now = clock.now()
      return store.write(async (tx) => {
        const [user] = await tx.select({ id: users.id }).from(users).where(eq(users.id, values.userId))
        if (!user) throw new AppError('not_found', 'user_id: no such user')
        const [first] = await tx
          .select({ id: subscriptions.id })
          .from(subscriptions)
          .where(eq(subscriptions.userId, user.id))
          .limit(1)
        // A customer with subscriptions always has a default one.
        const becomesDefault = !first || isDefault === true
        if (becomesDefault) await clearDefault(tx, user.id)
        return tx
          .insert(subscriptions)
          .values({ ...values, isDefault: becomesDefault, status: 'active', createdAt: now, updatedAt: now })
          .returning()
          .get()
      })
    },

    /** @throws AppError `not_found`, `validation_error` when the default would be taken away */
    async change(id: number, changes: SubscriptionChanges): Promise<Subscription> {
      if (changes.isDefault === false) {
        throw new AppError(
          'validation_error',
          'is_default: must be true; make another subscription the default instead',
        )
      }
      return store.write(async (tx) => {
        const { userId } = await find(id, tx)
        if (changes.isDefault) await clearDefault(tx, userId)
        return tx
          .update(subscriptions)
          .set({ ...changes, updatedAt: clock.now() })
          .where(eq(subscriptions.id, id))
          .returning()
          .get()
      })
    },
  }
}
