/** Lists sites in pages, of one subscription or all, and searches them by name within a bounded amount of work. */
import { and, asc, eq, gt, lte, type SQL, sql } from 'drizzle-orm'
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

type Wanted = { within: number | undefined; afterId: number; wanted: number }

const inSubscription = eq(sites.subscriptionId, given('within'))

// Prepared: this is the most common request, and building the query takes five times as long as running it.
const readEverywhere = prepare((queries) => selectNames(queries, undefined, undefined))
const readWithin = prepare((queries) => selectNames(queries, inSubscription, undefined))
const searchEverywhere = prepare((queries) => selectNames(queries, undefined, hasName(queries, given('text'))))
const searchWithin = prepare((queries) => selectNames(queries, inSubscription, hasName(queries, given('text'))))
const endEverywhere = prepare((queries) => selectEnd(queries, undefined))
const endWithin = prepare((queries) => selectEnd(queries, inSubscription))

/**
 * @param within a subscription; undefined for all
 * @param domain part of the domain or of an alias
 */
export async function listSites(
  store: ReadStore,
  page: PageRequest,
  { within, domain }: { within: number | undefined; domain: string | undefined },
): Promise<Page<NamedSite>> {
  const text = domain === undefined ? undefined : searchedName(domain)
  return readPage(store, page, (afterId, wanted) =>
    text === undefined
      ? readSites(store.read, { within, afterId, wanted })
      : searchSites(store.read, { within, afterId, wanted }, text),
  )
}

async function readSites(queries: Queries, { within, afterId, wanted }: Wanted): Promise<Piece<NamedSite>> {
  const about = { afterId, end: NO_ID, wanted: wanted - 1, names: NAMES_OF_PIECE }
  const rows =
    within === undefined
      ? await readEverywhere.all(queries, about)
      : await readWithin.all(queries, { ...about, within })
  const found = gatherNames(rows)
  // The last site may have more names than were read.
  const isCut = rows.length === NAMES_OF_PIECE
  if (isCut) found.pop()
  return { rows: found, next: isCut || found.length === wanted ? found.at(-1)?.id : undefined }
}

/** Looks at the sites with the next names, up to a limit. */
async function searchSites(queries: Queries, { within, afterId, wanted }: Wanted, text: string) {
  const about = { afterId, names: NAMES_OF_PIECE }
  const last = await (within === undefined
    ? endEverywhere.first(queries, about)
    : endWithin.first(queries, { ...about, within }))
  const end = last?.id
  const found = { afterId, end: end ?? NO_ID, wanted: wanted - 1, names: NO_ID, text }
  const rows =
    within === undefined
      ? await searchEverywhere.all(queries, found)
      : await searchWithin.all(queries, { ...found, within })
  const matching = gatherNames(rows)
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
