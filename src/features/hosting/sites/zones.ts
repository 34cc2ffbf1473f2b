/** Which names a customer may take: none within another customer's domain, none above another's site, no public suffix. */
import { and, eq, gt, inArray, lt, ne, type SQL } from 'drizzle-orm'
import type { Actor } from '../../../core/actor.ts'
import { AppError } from '../../../core/errors.ts'
import { given, prepare } from '../../../db/statements.ts'
import type { Queries } from '../../../db/store.ts'
import { siteDomains, sites, subscriptions } from '../../../db/tables.ts'
import { normalizeDomain, reversed } from './domain.ts'
import type { SiteNames } from './names.ts'

/**
 * Anyone can register a name below a public suffix, so a site at `co.uk` would stand above those of strangers.
 *
 * @throws AppError `validation_error` naming the field
 */
export async function requireNoPublicSuffix(names: Partial<SiteNames>): Promise<void> {
  // Loaded when it is needed: the list takes as long to load as half the start.
  const { getPublicSuffix } = await import('tldts')
  for (const [name, field] of fieldsOf(names)) {
    const domain = normalizeDomain(name)
    if (domain === undefined || getPublicSuffix(domain, { allowPrivateDomains: true }) !== domain) continue
    throw new AppError('validation_error', `${field}: is a public suffix, below which others register names`)
  }
}

/** Of other customers: a name within a zone. Prepared, since a site may have a hundred names. */
const findWithin = prepare((queries) => {
  const isWithin = and(gt(siteDomains.reversed, given('zone')), lt(siteDomains.reversed, given('end')))
  return namesOfOthers(queries, isWithin, given('ownerId'))
})

/**
 * A site below another customer's domain could set cookies for it, and pass for it.
 *
 * @param before the names that the site has, which it may keep
 * @throws AppError `conflict` naming the field
 */
export async function requireOwnZones(
  tx: Queries,
  actor: Actor,
  ownerId: number,
  names: SiteNames,
  before: readonly string[] = [],
): Promise<void> {
  // The operator and administrators know what they do, and customers ask them for it.
  if (actor.kind !== 'user' || actor.role === 'admin') return
  const added = fieldsOf(names).filter(([name]) => !before.includes(name))
  const above = [...new Set(added.flatMap(([name]) => namesAbove(name)))]
  if (above.length > 0) {
    const [found] = await namesOfOthers(tx, inArray(siteDomains.domain, above), ownerId)
    const [, field] = added.find(([name]) => found && name.endsWith(`.${found.domain}`)) ?? []
    if (field) throw new AppError('conflict', `${field}: lies within a domain of another customer; ask your provider`)
  }
  for (const [name, field] of added) {
    const zone = reversed(name)
    // A slash follows the dot: up to it lie all names that go on after the zone.
    if (await findWithin.first(tx, { zone, end: `${zone.slice(0, -1)}/`, ownerId })) {
      throw new AppError('conflict', `${field}: lies above a site of another customer; ask your provider`)
    }
  }
}

function namesOfOthers(queries: Queries, condition: SQL | undefined, ownerId: number | SQL) {
  return queries
    .select({ domain: siteDomains.domain })
    .from(siteDomains)
    .innerJoin(sites, eq(sites.id, siteDomains.siteId))
    .innerJoin(subscriptions, eq(subscriptions.id, sites.subscriptionId))
    .where(and(condition, ne(subscriptions.userId, ownerId)))
    .limit(1)
}

/** `a.b.example.com` is below `b.example.com` and `example.com`; a single label is nobody's. */
function namesAbove(name: string): string[] {
  const labels = name.split('.')
  return labels.slice(1, -1).map((_, position) => labels.slice(position + 1).join('.'))
}

function fieldsOf({ domain, aliases = [] }: Partial<SiteNames>): [name: string, field: string][] {
  return [
    ...(domain === undefined ? [] : [[domain, 'domain'] as [string, string]]),
    ...aliases.map((alias, position): [string, string] => [alias, `aliases.${position}`]),
  ]
}
