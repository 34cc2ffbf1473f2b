/** Sites: names and what is served under them, within a subscription and its limit. A node makes it so, and reports. */
import { asc, eq } from 'drizzle-orm'
import type { Actor, Caller, Operator } from '../../../core/actor.ts'
import { changesNothing, differences } from '../../../core/changes.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import type { Precondition } from '../../../core/precondition.ts'
import { boundSitesOf } from '../../../core/principal.ts'
import { one } from '../../../db/statements.ts'
import type { Conclude, Queries, ReadStore } from '../../../db/store.ts'
import { siteDomains, sites, subscriptions } from '../../../db/tables.ts'
import { desired, type NodeId } from '../../../node/desired-states.ts'
import type { PhpSettings } from '../../../node/php.ts'
import type { ReadAs, WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { RecordEvent } from '../events/events.ts'
import type { SiteAccess, SiteRef, SiteRow } from '../site-access.ts'
import type { Subscription, SubscriptionScope } from '../subscriptions/scope.ts'
import { isChanging, type WaitUntilObserved } from '../wait.ts'
import { isDeploying, isUnseen } from './deployed.ts'
import { requireActive, requireRoom } from './limit.ts'
import { listSites } from './list.ts'
import { gatherNames, insertDomains, nameChanges, normalizeNames, type SiteNames } from './names.ts'
import { type PhpColumns, phpColumns } from './php/settings.ts'
import { runtimeOf } from './runtime.ts'
import type { Serving } from './serving.ts'
import { requireNoPublicSuffix, requireOwnZones } from './zones.ts'

export type Site = SiteRow & SiteNames

type Kind = SiteRow['kind']

export type SiteFilter = { subscriptionId?: number; domain?: string }
export type NewSite = SiteNames & {
  subscriptionId: number | undefined
  /** Undefined: `php` if a version is named, else `static`. */
  kind: Kind | undefined
  /** Null for a PHP site: the newest that is installed. */
  phpVersion: string | null
  phpSettings: PhpSettings | undefined
  noPhpIn: string[] | undefined
  spa: boolean
  publicDir: string | null
  healthPath: string | null
}
export type SiteChanges = {
  domain?: string
  aliases?: string[]
  kind?: Kind
  phpVersion?: string | null
  /** Replaces all that were set. */
  phpSettings?: PhpSettings
  noPhpIn?: string[]
  spa?: boolean
  publicDir?: string | null
  healthPath?: string | null
  isEnabled?: boolean
}

/** What a new site is to be. */
type Wanted = SiteNames &
  Pick<SiteRow, 'kind' | 'phpVersion' | 'spa' | 'publicDir' | 'healthPath'> &
  Partial<PhpColumns>

export type SitesOptions = {
  store: ReadStore
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  readAs: ReadAs
  waitUntilObserved: WaitUntilObserved
  scope: SubscriptionScope
  siteAccess: SiteAccess
  recordEvent: RecordEvent
  serving: Serving
  /** The versions of PHP that a node has, the newest first. */
  phpVersionsOf(queries: Queries, nodeId: NodeId): Promise<readonly string[]>
}

export type Sites = ReturnType<typeof createSites>

export function createSites(options: SitesOptions) {
  const { store, clock, audit, writeAs, readAs, waitUntilObserved, scope, siteAccess, recordEvent, serving } = options
  const { phpVersionsOf } = options

  /** @throws AppError `not_found`, `forbidden` for another customer's or one outside the key's subscription */
  async function findVisible(caller: Caller, ref: SiteRef, queries: Queries) {
    const rows = await queries
      .select({ site: sites, name: siteDomains.domain, subscription: subscriptions })
      .from(sites)
      .innerJoin(subscriptions, eq(subscriptions.id, sites.subscriptionId))
      .innerJoin(siteDomains, eq(siteDomains.siteId, sites.id))
      .where(eq(sites.id, ref.id))
      .orderBy(asc(siteDomains.position))
    const [site] = gatherNames(rows)
    const { subscription = undefined } = rows[0] ?? {}
    return siteAccess.requireVisible(queries, caller, ref, site && subscription && { site, subscription })
  }

  async function insert(tx: Queries, actor: Actor, subscription: Subscription, wanted: Wanted): Promise<Site> {
    const { id: subscriptionId, userId: ownerId, nodeId } = subscription
    const { domain, aliases, ...content } = wanted
    const domains = { domain, aliases }
    await requireRoom(tx, subscription)
    const now = clock.now()
    const row = await one(
      tx
        .insert(sites)
        .values({
          subscriptionId,
          nodeId,
          ...content,
          isEnabled: true,
          isDeleting: false,
          generation: 1,
          observedGeneration: 0,
          createdAt: now,
          updatedAt: now,
        })
        .returning(),
    )
    await insertDomains(tx, row.id, domains)
    await requireOwnZones(tx, actor, ownerId, domains)
    await desired.announce(tx, subscriptionId)
    await recordEvent(tx, { site: row, kind: 'site.created', details: domains, at: now })
    await audit(tx, actor, {
      action: 'site.create',
      accountId: ownerId,
      target: { type: 'site', id: row.id },
      details: { subscriptionId, ...domains },
    })
    return { ...row, ...domains }
  }

  const named = (domain: string, aliases: string[]) => normalizeNames(domain, aliases, serving.isOwnName)

  return {
    /** @throws AppError `not_found`, `forbidden` for another customer's */
    async find(caller: Caller, ref: SiteRef): Promise<Site> {
      return (await findVisible(caller, ref, store.read)).site
    },

    /**
     * A site once its node has reported on the newest generation, or as it is when patience ends.
     *
     * @throws AppError `not_found`, also once it is gone, `forbidden`, and what a caller gets who has lost the right to ask
     */
    findObserved: (caller: Caller, ref: SiteRef, patienceMs: number): Promise<Site> =>
      waitUntilObserved(
        () =>
          readAs(caller, async (queries, caller) => {
            const { site } = await findVisible(caller, ref, queries)
            const isUnderWay = isChanging(site) || (await isDeploying(queries, site.id))
            return { seen: site, isObserved: !isUnderWay }
          }),
        patienceMs,
      ),

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
      return listSites(store, page, { within: within?.id, siteIds: boundSitesOf(caller), domain })
    },

    /**
     * @throws AppError `validation_error`, `not_found`, `forbidden`, and `conflict` for a domain that is taken, a
     * suspended subscription or a reached limit
     */
    async create(caller: Caller, { subscriptionId, ...site }: NewSite, conclude?: Conclude<Site>): Promise<Site> {
      const { spa, publicDir, healthPath } = site
      const names = named(site.domain, site.aliases)
      await requireNoPublicSuffix(names)
      return writeAs(caller, async (tx, caller) => {
        const subscription = await scope.resolve(tx, caller, subscriptionId)
        if (!subscription) throw new AppError('bad_request', 'subscription_id: is required for administrators')
        const runtime = runtimeOf(await phpVersionsOf(tx, subscription.nodeId), site.kind, site.phpVersion)
        const php = phpColumns(runtime.kind, subscription, site)
        const created = await insert(tx, caller, subscription, {
          ...names,
          ...runtime,
          ...php,
          spa,
          publicDir,
          healthPath,
        })
        await conclude?.(tx, created)
        return created
      })
    },

    /** For the command line. @throws AppError `validation_error`, `not_found`, `conflict` */
    async createFor(actor: Operator, subscriptionId: number, names: SiteNames): Promise<Site> {
      const wanted: Wanted = {
        ...named(names.domain, names.aliases),
        kind: 'static',
        phpVersion: null,
        spa: false,
        publicDir: null,
        healthPath: null,
      }
      return writeAs(actor, async (tx, actor) => insert(tx, actor, await scope.find(tx, subscriptionId), wanted))
    },

    /** @throws AppError `validation_error`, `not_found`, `forbidden`, `conflict`, `precondition_failed` */
    async change(caller: Caller, ref: SiteRef, changes: SiteChanges, precondition?: Precondition<Site>): Promise<Site> {
      await requireNoPublicSuffix(changes)
      return writeAs(caller, async (tx, caller) => {
        const { domain, aliases, kind, phpVersion, phpSettings, noPhpIn, ...others } = changes
        const { site: before, subscription } = await findVisible(caller, ref, tx)
        precondition?.(before)
        const { id } = before
        requireActive(subscription)
        if (before.isDeleting) throw new AppError('conflict', 'The site is being deleted')
        const domains = named(domain ?? before.domain, aliases ?? before.aliases)
        const runtime =
          kind === undefined && phpVersion === undefined
            ? {}
            : runtimeOf(
                await phpVersionsOf(tx, before.nodeId),
                // A version alone makes it a PHP site, as it does a new one.
                kind ?? (typeof phpVersion === 'string' ? undefined : before.kind),
                phpVersion ?? (kind === 'static' ? null : before.phpVersion),
              )
        const php = phpColumns({ ...before, ...runtime }.kind, subscription, { phpSettings, noPhpIn })
        const rest = { ...php, ...others }
        const renaming = nameChanges(before, domains)
        const { isEnabled, ...other } = differences(before, { ...runtime, ...rest })
        const details = { ...renaming, ...other, ...(isEnabled !== undefined && { enabled: isEnabled }) }
        if (changesNothing(details)) return before
        if (!changesNothing(renaming)) {
          await tx.delete(siteDomains).where(eq(siteDomains.siteId, id))
          await insertDomains(tx, id, domains)
          await requireOwnZones(tx, caller, subscription.userId, domains, [before.domain, ...before.aliases])
        }
        const now = clock.now()
        const row = await one(
          tx
            .update(sites)
            .set({ ...runtime, ...rest, generation: before.generation + 1, updatedAt: now })
            .where(eq(sites.id, id))
            .returning(),
        )
        await desired.announce(tx, row.subscriptionId)
        await recordEvent(tx, { site: row, kind: 'site.changed', details, at: now })
        await audit(tx, caller, {
          action: 'site.change',
          accountId: subscription.userId,
          target: { type: 'site', id },
          details,
        })
        return { ...row, ...domains }
      })
    },

    /**
     * Starts deleting a site. One that no node can have seen is gone at once; another is once its node has removed it, and
     * its names are free then. Deleting it a second time changes nothing.
     *
     * @returns the site as it was left
     * @throws AppError `not_found`, `forbidden`, `precondition_failed`, and `conflict` in a suspended subscription, for
     * all but administrators
     */
    async remove(caller: Caller, ref: SiteRef, precondition?: Precondition<Site>): Promise<Site> {
      return writeAs(caller, async (tx, caller) => {
        const { site, subscription } = await findVisible(caller, ref, tx)
        precondition?.(site)
        if (caller.role !== 'admin') requireActive(subscription)
        if (site.isDeleting) return site
        const { id, subscriptionId, domain } = site
        const now = clock.now()
        const change = { isDeleting: true, generation: site.generation + 1, updatedAt: now }
        const isGone = await isUnseen(tx, site)
        if (isGone) await tx.delete(sites).where(eq(sites.id, id))
        else await tx.update(sites).set(change).where(eq(sites.id, id))
        const kind = isGone ? 'site.deleted' : 'site.deleting'
        await recordEvent(tx, { site: { ...site, ...change }, kind, at: now })
        await desired.announce(tx, subscriptionId)
        await audit(tx, caller, {
          action: 'site.delete',
          accountId: subscription.userId,
          target: { type: 'site', id },
          details: { subscriptionId, domain },
        })
        return { ...site, ...change }
      })
    },
  }
}
