/** The names of sites, domains and aliases alike: stored one a row, unique on the node, and put together again. */
import { domainToASCII } from 'node:url'
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { contains } from '../../../db/expressions.ts'
import type { Queries } from '../../../db/store.ts'
import { siteDomains, sites } from '../../../db/tables.ts'
import { normalizeDomain } from './domain.ts'

type SiteRow = typeof sites.$inferSelect

export type SiteNames = { domain: string; aliases: string[] }

export type NamedSite = SiteRow & SiteNames

/** @param text part of a name, in letters or in punycode */
export function searchedName(text: string): string {
  return domainToASCII(text) || text.toLowerCase()
}

/** @param part as `searchedName` gives it */
export function hasName(queries: Queries, part: SQL): SQL {
  const found = queries
    .select({ id: siteDomains.siteId })
    .from(siteDomains)
    .where(and(eq(siteDomains.siteId, sites.id), contains(siteDomains.domain, part)))
    .limit(1)
  // Not EXISTS, of which SQLite would make a join that it has to sort.
  return sql`${found} IS NOT NULL`
}

/**
 * One site for its many rows. They come out of one statement: between two, another request could take the names away.
 *
 * @param rows in order of site, and of position within it
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

/** @throws AppError `conflict` that names the field, when a site of anybody's has the name as its domain or an alias */
export async function insertDomains(tx: Queries, siteId: number, names: SiteNames): Promise<void> {
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

/** @throws AppError `validation_error` that names the field */
export function normalizeNames(domain: string, aliases: string[]): SiteNames {
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

/** What differs between two sets of names, for the audit log. */
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
