/** The names of sites, both domains and aliases: stored one per row, unique on the node, and put together again. */
import { domainToASCII } from 'node:url'
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { contains } from '../../../db/expressions.ts'
import type { Queries } from '../../../db/store.ts'
import { siteDomains, sites } from '../../../db/tables.ts'
import { normalizeDomain, reversed } from './domain.ts'

type SiteRow = typeof sites.$inferSelect

export type SiteNames = { domain: string; aliases: string[] }

export type NamedSite = SiteRow & SiteNames

/** @param text part of a name, in letters or in punycode */
export function searchedName(text: string): string {
  return domainToASCII(text) || text.toLowerCase()
}

/** @param part as returned by `searchedName` */
export function hasName(queries: Queries, part: SQL): SQL {
  const found = queries
    .select({ id: siteDomains.siteId })
    .from(siteDomains)
    .where(and(eq(siteDomains.siteId, sites.id), contains(siteDomains.domain, part)))
    .limit(1)
  // Not EXISTS: SQLite would turn it into a join that it has to sort.
  return sql`${found} IS NOT NULL`
}

/**
 * Merges the rows of each site. They come from one statement: between two, another request could remove names.
 *
 * @param rows ordered by site, then by position
 */
export function gatherNames(rows: { site: SiteRow; name: string }[]): NamedSite[] {
  const found = new Map<number, NamedSite>()
  for (const { site, name } of rows) {
    const known = found.get(site.id)
    if (known) known.aliases.push(name)
    else found.set(site.id, { ...site, domain: name, aliases: [] })
  }
  return [...found.values()]
}

/** @throws AppError `conflict` naming the field, when any site has the name as its domain or an alias */
export async function insertDomains(tx: Queries, siteId: number, names: SiteNames): Promise<void> {
  const all = [names.domain, ...names.aliases]
  const inserted = await tx
    .insert(siteDomains)
    .values(all.map((domain, position) => ({ domain, siteId, position, reversed: reversed(domain) })))
    .onConflictDoNothing({ target: siteDomains.domain })
    .returning({ position: siteDomains.position })
  const positions = new Set(inserted.map(({ position }) => position))
  const taken = all.findIndex((_, position) => !positions.has(position))
  if (taken === -1) return
  const field = taken === 0 ? 'domain' : `aliases.${taken - 1}`
  throw new AppError('conflict', `${field}: a site on this server already has this name`)
}

/**
 * @param isOwnName whether a host name is the panel's own
 * @throws AppError `validation_error`, `conflict`, naming the field
 */
export function normalizeNames(domain: string, aliases: string[], isOwnName: (name: string) => boolean): SiteNames {
  const normalized = {
    domain: requireDomain('domain', domain),
    aliases: aliases.map((alias, position) => requireDomain(`aliases.${position}`, alias)),
  }
  if (new Set([normalized.domain, ...normalized.aliases]).size <= normalized.aliases.length) {
    throw new AppError('validation_error', 'aliases: must not repeat the domain or another alias')
  }
  if (isOwnName(normalized.domain)) throw new AppError('conflict', "domain: is the panel's own name")
  const position = normalized.aliases.findIndex(isOwnName)
  if (position !== -1) throw new AppError('conflict', `aliases.${position}: is the panel's own name`)
  return normalized
}

function requireDomain(field: string, text: string): string {
  const domain = normalizeDomain(text)
  if (domain === undefined) {
    throw new AppError('validation_error', `${field}: must be a full domain name, such as www.example.com`)
  }
  return domain
}

/** The difference between two sets of names, for the audit log. */
export function nameChanges(before: SiteNames, after: SiteNames) {
  const added = after.aliases.filter((alias) => !before.aliases.includes(alias))
  const removed = before.aliases.filter((alias) => !after.aliases.includes(alias))
  const isReordered = added.length + removed.length === 0 && after.aliases.join() !== before.aliases.join()
  return {
    ...(after.domain !== before.domain && { domain: after.domain }),
    ...(added.length > 0 && { aliasesAdded: added }),
    ...(removed.length > 0 && { aliasesRemoved: removed }),
    ...(isReordered && { aliasesReordered: true }),
  }
}
