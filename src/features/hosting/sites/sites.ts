/** Sites: a domain, its aliases and its document root, within a subscription and its limit. */
import { and, asc, eq, gt } from 'drizzle-orm'
import type { Actor, Caller, Operator } from '../../../core/actor.ts'
import { changesNothing, differences } from '../../../core/changes.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { nextTurn } from '../../../core/next-turn.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import type { Precondition } from '../../../core/precondition.ts'
import { one } from '../../../db/statements.ts'
import type { Conclude, Queries, ReadStore } from '../../../db/store.ts'
import { siteDomains, sites, subscriptions } from '../../../db/tables.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { Subscription, SubscriptionScope } from '../subscriptions/scope.ts'
import { listSites } from './list.ts'
import { gatherNames, insertDomains, nameChanges, normalizeNames, type SiteNames } from './names.ts'

type SiteRow = typeof sites.$inferSelect

export type Site = SiteRow & SiteNames

export const PHP_VERSIONS = ['8.2', '8.3', '8.4', '8.5'] as const
const DEFAULT_PHP_VERSION = '8.4'
/** Sites that one statement counts. */
const COUNT_STEP = 20_000

/** A site, and the subscription it must be in if the request names one. */
export type SiteRef = { id: number; subscriptionId: number | undefined }
export type SiteFilter = { subscriptionId?: number; domain?: string }
export type NewSite = SiteNames & { subscriptionId: number | undefined }
export type SiteChanges = {
  domain?: string
  aliases?: string[]
  phpVersion?: (typeof PHP_VERSIONS)[number]
  status?: 'active' | 'disabled'
}

export type SitesOptions = {
  store: ReadStore
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  scope: SubscriptionScope
}

export type Sites = ReturnType<typeof createSites>

export function createSites(options: SitesOptions) {
  const { store, clock, audit, writeAs, scope } = options

  /** @throws AppError `not_found`, `forbidden` for another customer's or one outside the key's subscription */
  async function findVisible(caller: Caller, { id, subscriptionId }: SiteRef, queries: Queries) {
    const rows = await queries
      .select({ site: sites, name: siteDomains.domain, subscription: subscriptions })
      .from(sites)
      .innerJoin(subscriptions, eq(subscriptions.id, sites.subscriptionId))
      .innerJoin(siteDomains, eq(siteDomains.siteId, sites.id))
      .where(eq(sites.id, id))
      .orderBy(asc(siteDomains.position))
    const [site] = gatherNames(rows)
    const [row] = rows
    if (!site || !row) throw new AppError('not_found', 'No such site')
    const { subscription } = row
    const resource = { name: 'site', subscriptionId: subscription.id, ownerId: subscription.userId } as const
    await scope.requireVisible(queries, caller, resource, subscriptionId)
    return { site, subscription }
  }

  async function insert(tx: Queries, actor: Actor, subscription: Subscription, domains: SiteNames): Promise<Site> {
    const { id: subscriptionId, userId: ownerId } = subscription
    await requireRoom(tx, subscription)
    const now = clock.now()
    const row = await one(
      tx
        .insert(sites)
        .values({
          subscriptionId,
          documentRoot: documentRootOf(domains.domain),
          phpVersion: DEFAULT_PHP_VERSION,
          status: 'active',
          createdAt: now,
          updatedAt: now,
        })
        .returning(),
    )
    await insertDomains(tx, row.id, domains)
    await audit(tx, actor, {
      action: 'site.create',
      accountId: ownerId,
      target: { type: 'site', id: row.id },
      details: { subscriptionId, ...domains },
    })
    return { ...row, ...domains }
  }

  return {
    /** @throws AppError `not_found`, `forbidden` for another customer's */
    async find(caller: Caller, ref: SiteRef): Promise<Site> {
      return (await findVisible(caller, ref, store.read)).site
    },

    /** @throws AppError `not_found`, `forbidden` if the caller may not see the subscription */
    async requireSubscription(caller: Caller, subscriptionId: number): Promise<void> {
      await scope.findOwn(store.read, caller, subscriptionId)
    },

    /**
     * @param filter.subscriptionId undefined means the default one, and all for an administrator
     * @param filter.domain part of the domain or of an alias
     * @throws AppError `not_found`, `forbidden`
     */
    async list(caller: Caller, filter: SiteFilter, page: PageRequest): Promise<Page<Site>> {
      const { subscriptionId, domain } = filter
      const within = await scope.resolve(store.read, caller, subscriptionId)
      return listSites(store, page, { within: within?.id, domain })
    },

    /**
     * @throws AppError `validation_error`, `not_found`, `forbidden`, and `conflict` for a domain that is taken, a
     * suspended subscription or a reached limit
     */
    async create(caller: Caller, { subscriptionId, ...names }: NewSite, conclude?: Conclude<Site>): Promise<Site> {
      const domains = normalizeNames(names.domain, names.aliases)
      return writeAs(caller, async (tx, caller) => {
        const subscription = await scope.resolve(tx, caller, subscriptionId)
        if (!subscription) throw new AppError('bad_request', 'subscription_id: is required for administrators')
        const created = await insert(tx, caller, subscription, domains)
        await conclude?.(tx, created)
        return created
      })
    },

    /** For the command line. @throws AppError `validation_error`, `not_found`, `conflict` */
    async createFor(actor: Operator, subscriptionId: number, names: SiteNames): Promise<Site> {
      const domains = normalizeNames(names.domain, names.aliases)
      return writeAs(actor, async (tx, actor) => insert(tx, actor, await scope.find(tx, subscriptionId), domains))
    },

    /** @throws AppError `validation_error`, `not_found`, `forbidden`, `conflict`, `precondition_failed` */
    async change(caller: Caller, ref: SiteRef, changes: SiteChanges, precondition?: Precondition<Site>): Promise<Site> {
      return writeAs(caller, async (tx, caller) => {
        const { domain, aliases, ...rest } = changes
        const { site: before, subscription } = await findVisible(caller, ref, tx)
        precondition?.(before)
        const { id } = before
        requireActive(subscription)
        const domains = normalizeNames(domain ?? before.domain, aliases ?? before.aliases)
        const renaming = nameChanges(before, domains)
        const details = { ...renaming, ...differences(before, rest) }
        if (changesNothing(details)) return before
        if (!changesNothing(renaming)) {
          await tx.delete(siteDomains).where(eq(siteDomains.siteId, id))
          await insertDomains(tx, id, domains)
        }
        const row = await one(
          tx
            .update(sites)
            .set({ ...rest, documentRoot: documentRootOf(domains.domain), updatedAt: clock.now() })
            .where(eq(sites.id, id))
            .returning(),
        )
        await audit(tx, caller, {
          action: 'site.change',
          accountId: subscription.userId,
          target: { type: 'site', id },
          details,
        })
        return { ...row, ...domains }
      })
    },

    /** @throws AppError `not_found`, `forbidden`, `precondition_failed`, `conflict` in a suspended subscription */
    async remove(caller: Caller, ref: SiteRef, precondition?: Precondition<Site>): Promise<void> {
      await writeAs(caller, async (tx, caller) => {
        const { site, subscription } = await findVisible(caller, ref, tx)
        precondition?.(site)
        requireActive(subscription)
        const { id, subscriptionId, domain } = site
        await tx.delete(sites).where(eq(sites.id, id))
        await audit(tx, caller, {
          action: 'site.delete',
          accountId: subscription.userId,
          target: { type: 'site', id },
          details: { subscriptionId, domain },
        })
      })
    },
  }
}

/** Follows the domain, which is unique: if it stayed, the domain's next owner would get the same directory. */
function documentRootOf(domain: string): string {
  return `/var/www/${domain}`
}

/** @throws AppError `conflict` */
function requireActive({ status }: Subscription): void {
  if (status !== 'active') throw new AppError('conflict', 'The subscription is suspended')
}

/** In the transaction that adds the site, so that parallel requests cannot pass the limit together. */
async function requireRoom(tx: Queries, subscription: Subscription): Promise<void> {
  requireActive(subscription)
  const { id, maxSites } = subscription
  if (maxSites === 0 || !(await hasAsMany(tx, id, maxSites))) return
  throw new AppError('conflict', `The subscription's limit of ${maxSites} sites is reached`)
}

/** Counts in steps, so that a subscription with a million sites holds up only writers. */
async function hasAsMany(tx: Queries, subscriptionId: number, count: number): Promise<boolean> {
  let last = 0
  for (let missing = count; missing > 0; missing -= COUNT_STEP) {
    const [site] = await tx
      .select({ id: sites.id })
      .from(sites)
      .where(and(eq(sites.subscriptionId, subscriptionId), gt(sites.id, last)))
      .orderBy(asc(sites.id))
      .limit(1)
      .offset(Math.min(missing, COUNT_STEP) - 1)
    if (!site) return false
    last = site.id
    if (missing > COUNT_STEP) await nextTurn()
  }
  return true
}
