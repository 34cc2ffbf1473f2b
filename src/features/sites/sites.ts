/** Sites: a domain, its aliases and where its files are, within a subscription and its limit. */
import { and, asc, eq, gt, inArray } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { type Page, type PageRequest, pageOf } from '../../core/page.ts'
import type { Principal } from '../../core/principal.ts'
import { isUniqueViolation, type Queries, type Store } from '../../db/store.ts'
import { siteDomains, sites, subscriptions } from '../../db/tables.ts'
import { normalizeDomain } from './domain.ts'

type SiteRow = typeof sites.$inferSelect
type SubscriptionRow = typeof subscriptions.$inferSelect

export type Site = SiteRow & { domain: string; aliases: string[] }

export const PHP_VERSIONS = ['8.2', '8.3', '8.4', '8.5'] as const
const DEFAULT_PHP_VERSION = '8.4'

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
  async function find(principal: Principal, id: number, queries: Queries = store.read): Promise<Site> {
    const [found] = await queries
      .select({ site: sites, userId: subscriptions.userId })
      .from(sites)
      .innerJoin(subscriptions, eq(subscriptions.id, sites.subscriptionId))
      .where(eq(sites.id, id))
    if (!found) throw new AppError('not_found', 'No such site')
    if (principal.role !== 'admin' && found.userId !== principal.userId) {
      throw new AppError('forbidden', 'This site belongs to another customer')
    }
    const [site] = await withDomains(queries, [found.site])
    if (!site) throw new Error(`site ${id} has no domain`)
    return site
  }

  return {
    find,

    /**
     * @param subscriptionId undefined means the default one, and for an administrator all
     * @throws AppError `not_found`, `forbidden`
     */
    async list(principal: Principal, subscriptionId: number | undefined, page: PageRequest): Promise<Page<Site>> {
      const everywhere = principal.role === 'admin' && subscriptionId === undefined
      const within = everywhere ? undefined : (await subscriptionOf(principal, subscriptionId)).id
      const rows = await store.read
        .select()
        .from(sites)
        .where(and(within === undefined ? undefined : eq(sites.subscriptionId, within), gt(sites.id, page.afterId)))
        .orderBy(asc(sites.id))
        .limit(page.limit + 1)
      const { rows: shown, ...rest } = pageOf(rows, page)
      return { rows: await withDomains(store.read, shown), ...rest }
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
      return store
        .write(async (tx) => {
          await requireRoom(tx, id)
          const row = await tx
            .insert(sites)
            .values({
              subscriptionId: id,
              documentRoot: `/var/www/${domains.domain}`,
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
        .catch(domainTaken)
    },

    /** @throws AppError `validation_error`, `not_found`, `forbidden`, `conflict` */
    async change(principal: Principal, id: number, { domain, aliases, ...rest }: SiteChanges): Promise<Site> {
      return store
        .write(async (tx) => {
          const before = await find(principal, id, tx)
          await requireActive(tx, before.subscriptionId)
          const domains = normalizeNames(domain ?? before.domain, aliases ?? before.aliases)
          if (domain !== undefined || aliases !== undefined) {
            await tx.delete(siteDomains).where(eq(siteDomains.siteId, id))
            await insertDomains(tx, id, domains)
          }
          const row = await tx
            .update(sites)
            .set({ ...rest, updatedAt: clock.now() })
            .where(eq(sites.id, id))
            .returning()
            .get()
          return { ...row, ...domains }
        })
        .catch(domainTaken)
    },

    /** @throws AppError `not_found`, `forbidden`, `conflict` in a suspended subscription */
    async remove(principal: Principal, id: number): Promise<void> {
      await store.write(async (tx) => {
        const { subscriptionId } = await find(principal, id, tx)
        await requireActive(tx, subscriptionId)
        await tx.delete(sites).where(eq(sites.id, id))
      })
    },
  }
}

async function withDomains(queries: Queries, rows: SiteRow[]): Promise<Site[]> {
  if (rows.length === 0) return []
  const names = await queries
    .select()
    .from(siteDomains)
    .where(
      inArray(
        siteDomains.siteId,
        rows.map((row) => row.id),
      ),
    )
    .orderBy(asc(siteDomains.siteId), asc(siteDomains.position))
  const bySite = Map.groupBy(names, ({ siteId }) => siteId)
  return rows.map((row) => {
    const [domain = '', ...aliases] = (bySite.get(row.id) ?? []).map((name) => name.domain)
    return { ...row, domain, aliases }
  })
}

async function insertDomains(tx: Queries, siteId: number, names: { domain: string; aliases: string[] }): Promise<void> {
  const all = [names.domain, ...names.aliases]
  await tx.insert(siteDomains).values(all.map((domain, position) => ({ domain, siteId, position })))
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

function domainTaken(error: unknown): never {
  if (isUniqueViolation(error)) throw new AppError('conflict', 'domain: a site on this server already has this name')
  throw error
}
