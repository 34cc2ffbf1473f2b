/** Sites: a domain, its aliases and where its files are, within a subscription and its limit. */
import { domainToASCII } from 'node:url'
import { and, asc, eq, exists, gt } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { type Page, type PageRequest, pageOf } from '../../core/page.ts'
import type { Principal } from '../../core/principal.ts'
import { contains } from '../../db/contains.ts'
import type { Queries, Store } from '../../db/store.ts'
import { siteDomains, sites, subscriptions } from '../../db/tables.ts'
import { normalizeDomain } from './domain.ts'

type SiteRow = typeof sites.$inferSelect
type SubscriptionRow = typeof subscriptions.$inferSelect

export type Site = SiteRow & { domain: string; aliases: string[] }

export const PHP_VERSIONS = ['8.2', '8.3', '8.4', '8.5'] as const
const DEFAULT_PHP_VERSION = '8.4'

/** A site, and the subscription it must be in where the request names one. */
export type SiteRef = { id: number; subscriptionId: number | undefined }
export type SiteFilter = { subscriptionId?: number; domain?: string }
export type NewSite = { domain: string; aliases: string[]; subscriptionId: number | undefined }
export type SiteChanges = {
  domain?: string
  aliases?: string[]
  phpVersion?: (typeof PHP_VERSIONS)[number]
  status?: 'active' | 'disabled'
}

export type SitesOptions = {
  store: Store
  clock: Clock
  /** @throws AppError `not_found`, `forbidden` */
  findSubscription(principal: Principal, id: number): Promise<SubscriptionRow>
  /** @throws AppError `not_found` for a customer who has none */
  findDefaultSubscription(userId: number): Promise<SubscriptionRow>
}

export type Sites = ReturnType<typeof createSites>

export function createSites({ store, clock, findSubscription, findDefaultSubscription }: SitesOptions) {
  /** The contract's subscription context: the one that is named, or the default one. */
  async function subscriptionOf(principal: Principal, id: number | undefined): Promise<SubscriptionRow> {
    return id === undefined ? findDefaultSubscription(principal.userId) : findSubscription(principal, id)
  }

  /** @throws AppError `not_found`, `forbidden` for another customer's */
  async function find(principal: Principal, { id, subscriptionId }: SiteRef, queries = store.read): Promise<Site> {
    const rows = await queries
      .select({ site: sites, name: siteDomains.domain, userId: subscriptions.userId })
      .from(sites)
      .innerJoin(subscriptions, eq(subscriptions.id, sites.subscriptionId))
      .innerJoin(siteDomains, eq(siteDomains.siteId, sites.id))
      .where(eq(sites.id, id))
      .orderBy(asc(siteDomains.position))
    const [site] = gatherNames(rows)
    if (!site) throw new AppError('not_found', 'No such site')
    if (principal.role !== 'admin' && rows[0]?.userId !== principal.userId) {
      throw new AppError('forbidden', 'This site belongs to another customer')
    }
    if (
      subscriptionId !== undefined &&
      (await findSubscription(principal, subscriptionId)).id !== site.subscriptionId
    ) {
      throw new AppError('not_found', 'No such site in this subscription')
    }
    return site
  }

  return {
    find,

    /**
     * @param filter.subscriptionId undefined means the default one, and for an administrator all
     * @param filter.domain part of the domain or of an alias
     * @throws AppError `not_found`, `forbidden`
     */
    async list(principal: Principal, filter: SiteFilter, page: PageRequest): Promise<Page<Site>> {
      const { subscriptionId, domain } = filter
      const everywhere = principal.role === 'admin' && subscriptionId === undefined
      const within = everywhere ? undefined : (await subscriptionOf(principal, subscriptionId)).id
      const site = store.read
        .select()
        .from(sites)
        .where(
          and(
            gt(sites.id, page.afterId),
            within === undefined ? undefined : eq(sites.subscriptionId, within),
            domain === undefined ? undefined : hasName(store.read, domain),
          ),
        )
        .orderBy(asc(sites.id))
        .limit(page.limit + 1)
        .as('site')
      const rows = await store.read
        .select()
        .from(site)
        .innerJoin(siteDomains, eq(siteDomains.siteId, site.id))
        .orderBy(asc(site.id), asc(siteDomains.position))
      return pageOf(gatherNames(rows.map(({ site, site_domains: { domain: name } }) => ({ site, name }))), page)
    },

    /**
     * @throws AppError `validation_error`, `not_found`, `forbidden`, and `conflict` for a domain that is taken, a
     * suspended subscription or a reached limit
     */
    async create(principal: Principal, { subscriptionId, ...names }: NewSite): Promise<Site> {
      if (principal.role === 'admin' && subscriptionId === undefined) {
        throw new AppError('bad_request', 'subscription_id: is required of an administrator')
      }
      const { id } = await subscriptionOf(principal, subscriptionId)
      const domains = normalizeNames(names.domain, names.aliases)
      const now = clock.now()
      return store.write(async (tx) => {
        await requireRoom(tx, id)
        const row = await tx
          .insert(sites)
          .values({
            subscriptionId: id,
            documentRoot: documentRootOf(domains.domain),
            phpVersion: DEFAULT_PHP_VERSION,
            status: 'active',
            createdAt: now,
            updatedAt: now,
          })
          .returning()
          .get()
        await insertDomains(tx, row.id, domains)
        return { ...row, ...domains }
      })
    },

    /** @throws AppError `validation_error`, `not_found`, `forbidden`, `conflict` */
    async change(principal: Principal, ref: SiteRef, { domain, aliases, ...rest }: SiteChanges): Promise<Site> {
      return store.write(async (tx) => {
        const before = await find(principal, ref, tx)
        const { id } = before
        await requireActive(tx, before.subscriptionId)
        const domains = normalizeNames(domain ?? before.domain, aliases ?? before.aliases)
        if (domain !== undefined || aliases !== undefined) {
          await tx.delete(siteDomains).where(eq(siteDomains.siteId, id))
          await insertDomains(tx, id, domains)
        }
        const row = await tx
          .update(sites)
          .set({ ...rest, documentRoot: documentRootOf(domains.domain), updatedAt: clock.now() })
          .where(eq(sites.id, id))
          .returning()
          .get()
        return { ...row, ...domains }
      })
    },

    /** @throws AppError `not_found`, `forbidden`, `conflict` in a suspended subscription */
    async remove(principal: Principal, ref: SiteRef): Promise<void> {
      await store.write(async (tx) => {
        const { id, subscriptionId } = await find(principal, ref, tx)
        await requireActive(tx, subscriptionId)
        await tx.delete(sites).where(eq(sites.id, id))
      })
    },
  }
}

/** @param text part of a name, in letters or in punycode */
function hasName(queries: Queries, text: string) {
  const part = domainToASCII(text) || text.toLowerCase()
  return exists(
    queries
      .select({ id: siteDomains.siteId })
      .from(siteDomains)
      .where(and(eq(siteDomains.siteId, sites.id), contains(siteDomains.domain, part))),
  )
}

/**
 * One site for its many rows. They come out of one statement: between two, another request could take the names away.
 *
 * @param rows in order of site, and of position within it
 */
function gatherNames(rows: { site: SiteRow; name: string }[]): Site[] {
  const found = new Map<number, Site>()
  for (const { site, name } of rows) {
    const known = found.get(site.id)
    if (known) known.aliases.push(name)
    else found.set(site.id, { ...site, domain: name, aliases: [] })
  }
  return [...found.values()]
}

/** @throws AppError `conflict` that names the field, when a site of anybody's has the name as its domain or an alias */
async function insertDomains(tx: Queries, siteId: number, names: { domain: string; aliases: string[] }): Promise<void> {
  const all = [names.domain, ...names.aliases]
  const inserted = await tx
    .insert(siteDomains)
    .values(all.map((domain, position) => ({ domain, siteId, position })))
    .onConflictDoNothing({ target: siteDomains.domain })
    .returning({ position: siteDomains.position })
  const positions = new Set(inserted.map(({ position }) => position))
  const taken = all.findIndex((_, position) => !positions.has(position))
  if (taken === -1) return
  const field = taken === 0 ? 'domain' : `aliases.${taken - 1}`
  throw new AppError('conflict', `${field}: a site on this server already has this name`)
}

/** Follows the domain, which is unique: were it to stay, the domain's next owner would get the same directory. */
function documentRootOf(domain: string): string {
  return `/var/www/${domain}`
}

/** @throws AppError `validation_error` that names the field */
function normalizeNames(domain: string, aliases: string[]): { domain: string; aliases: string[] } {
  const normalized = {
    domain: requireDomain('domain', domain),
    aliases: aliases.map((alias, position) => requireDomain(`aliases.${position}`, alias)),
  }
  if (new Set([normalized.domain, ...normalized.aliases]).size <= normalized.aliases.length) {
    throw new AppError('validation_error', 'aliases: must not repeat the domain or another alias')
  }
  return normalized
}

function requireDomain(field: string, text: string): string {
  const domain = normalizeDomain(text)
  if (domain === undefined) {
    throw new AppError('validation_error', `${field}: must be a full domain name, such as www.example.com`)
  }
  return domain
}

async function requireActive(tx: Queries, subscriptionId: number): Promise<SubscriptionRow> {
  const [subscription] = await tx.select().from(subscriptions).where(eq(subscriptions.id, subscriptionId))
  if (!subscription) throw new AppError('not_found', 'No such subscription')
  if (subscription.status !== 'active') throw new AppError('conflict', 'The subscription is suspended')
  return subscription
}

/** In the transaction that adds the site, so that parallel requests can't pass the limit together. */
async function requireRoom(tx: Queries, subscriptionId: number): Promise<void> {
  const { maxSites } = await requireActive(tx, subscriptionId)
  if (maxSites === 0) return
  const used = await tx.$count(sites, eq(sites.subscriptionId, subscriptionId))
  if (used >= maxSites) throw new AppError('conflict', `The subscription's limit of ${maxSites} sites is reached`)
}
