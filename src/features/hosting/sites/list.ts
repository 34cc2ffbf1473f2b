/** Lists sites in pages, of one subscription or all, and searches them by name within a bounded amount of work. */
import { and, asc, eq, gt, inArray, lte, type SQL, sql } from 'drizzle-orm'
import type { Page, PageRequest } from '../../../core/page.ts'
import { type Piece, readPage } from '../../../db/page-reader.ts'
import { given, prepare } from '../../../db/statements.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { siteDomains, sites } from '../../../db/tables.ts'
import { gatherNames, hasName, type NamedSite, searchedName } from './names.ts'

/** Names that one statement reads or looks at: a few milliseconds. A site has at most a tenth of that. */
const NAMES_OF_PIECE = 1200
/** Greater than any id. */
const NO_ID = Number.MAX_SAFE_INTEGER

/** Whose sites: of one subscription, or of all; and of those, the ones that a key is bound to. */
export type Range = { within: number | undefined; siteIds: ReadonlySet<number> | undefined }

type Wanted = Range & { afterId: number; wanted: number }

const inSubscription = eq(sites.subscriptionId, given('within'))

// Prepared: this is the most common request, and building the query takes five times as long as running it.
const everywhere = statementsFor(undefined)
const inOne = statementsFor(inSubscription)

function statementsFor(range: SQL | undefined) {
  return {
    select: prepare((queries) => selectNames(queries, range, undefined)),
    search: prepare((queries) => selectNames(queries, range, hasName(queries, given('text')))),
    end: prepare((queries) => selectEnd(queries, range)),
  }
}

function statementsOf({ within, siteIds }: Range) {
  if (siteIds) return statementsFor(and(inSubscription, inArray(sites.id, [...siteIds])))
  return within === undefined ? everywhere : inOne
}

/** @param domain part of the domain or of an alias */
export async function listSites(
  store: ReadStore,
  page: PageRequest,
  { domain, ...range }: Range & { domain: string | undefined },
): Promise<Page<NamedSite>> {
  const text = domain === undefined ? undefined : searchedName(domain)
  return readPage(store, page, (afterId, wanted) =>
    text === undefined
      ? readSites(store.read, { ...range, afterId, wanted })
      : searchSites(store.read, { ...range, afterId, wanted }, text),
  )
}

async function readSites(queries: Queries, { wanted, ...range }: Wanted): Promise<Piece<NamedSite>> {
  const { within, afterId } = range
  const about = { within, afterId, end: NO_ID, wanted: wanted - 1, names: NAMES_OF_PIECE }
  const rows = await statementsOf(range).select.all(queries, about)
  const found = gatherNames(rows)
  // The last site may have more names than were read.
  const isCut = rows.length === NAMES_OF_PIECE
  if (isCut) found.pop()
  return { rows: found, next: isCut || found.length === wanted ? found.at(-1)?.id : undefined }
}

/** Looks at the sites with the next names, up to a limit. */
async function searchSites(queries: Queries, { wanted, ...range }: Wanted, text: string) {
  const { within, afterId } = range
  const { search, end: selectLast } = statementsOf(range)
  const last = await selectLast.first(queries, { within, afterId, names: NAMES_OF_PIECE })
  const end = last?.id
  const about = { within, afterId, end: end ?? NO_ID, wanted: wanted - 1, names: NO_ID, text }
  const matching = gatherNames(await search.all(queries, about))
  return { rows: matching, next: matching.length === wanted ? matching.at(-1)?.id : end }
}

/**
 * Sites with all their names, one row each. CROSS JOIN is SQLite's way of fixing which table comes first: the one whose
 * order is wanted, so nothing is sorted. One statement: between two, another request could remove names.
 */
function selectNames(queries: Queries, scope: SQL | undefined, filter: SQL | undefined) {
  const range = and(gt(sites.id, given('afterId')), lte(sites.id, given('end')), scope, filter)
  const lastWanted = queries.select({ id: sites.id }).from(sites).where(range).orderBy(asc(sites.id)).limit(1)
  return queries
    .select({ site: sites, name: siteDomains.domain })
    .from(sites)
    .crossJoin(siteDomains)
    .where(
      and(
        eq(siteDomains.siteId, sites.id),
        range,
        sql`${sites.id} <= coalesce(${lastWanted.offset(sql.placeholder('wanted'))}, ${NO_ID})`,
      ),
    )
    .orderBy(asc(sites.id), asc(siteDomains.position))
    .limit(sql.placeholder('names'))
}

/** The site of the last name within the limit. */
function selectEnd(queries: Queries, scope: SQL | undefined) {
  return queries
    .select({ id: sites.id })
    .from(sites)
    .crossJoin(siteDomains)
    .where(and(eq(siteDomains.siteId, sites.id), gt(sites.id, given('afterId')), scope))
    .orderBy(asc(sites.id), asc(siteDomains.position))
    .limit(1)
    .offset(sql.placeholder('names'))
}
