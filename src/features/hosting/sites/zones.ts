/** Which names a customer may take: none within another customer's domain, none above another's site, no public suffix. */
import { and, eq, gt, inArray, lt, ne } from 'drizzle-orm'
import type { Actor } from '../../../core/actor.ts'
import { AppError } from '../../../core/errors.ts'
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
  // Administrators and the operator may override this on a customer's request.
  if (actor.kind !== 'user' || actor.role === 'admin') return
  const others = ne(subscriptions.userId, ownerId)
  for (const [name, field] of fieldsOf(names)) {
    if (before.includes(name)) continue
    const above = namesAbove(name)
    if (above.length > 0 && (await isAny(tx, and(inArray(siteDomains.domain, above), others)))) {
      throw new AppError('conflict', `${field}: lies within a domain of another customer; ask your provider`)
    }
    const zone = reversed(name)
    const below = and(gt(siteDomains.reversed, zone), lt(siteDomains.reversed, `${zone.slice(0, -1)}/`))
    if (await isAny(tx, and(below, others))) {
      throw new AppError('conflict', `${field}: lies above a site of another customer; ask your provider`)
    }
  }
}

async function isAny(tx: Queries, condition: ReturnType<typeof and>): Promise<boolean> {
  const [row] = await tx
    .select({ siteId: siteDomains.siteId })
    .from(siteDomains)
    .innerJoin(sites, eq(sites.id, siteDomains.siteId))
    .innerJoin(subscriptions, eq(subscriptions.id, sites.subscriptionId))
    .where(condition)
    .limit(1)
  return row !== undefined
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
