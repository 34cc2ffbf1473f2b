/** From rows to what a node is to do: a subscription and all its sites. */
import { and, asc, eq, gt, inArray } from 'drizzle-orm'
import { nextTurn } from '../../../core/next-turn.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { deployments, siteDomains, sites, sshKeys, subscriptions } from '../../../db/tables.ts'
import { desired, type NodeId } from '../../../node/desired-states.ts'
import type { Variable } from '../../../node/environment.ts'
import { releaseLimits } from '../../../node/limits.ts'
import type {
  DesiredChanges,
  DesiredRelease,
  DesiredSite,
  DesiredSubscription,
  DesiredTls,
  ReleaseLimits,
} from '../../../node/protocol.ts'
import type { ReadEnvironment } from './desired-environment.ts'
import type { ReadTls } from './desired-tls.ts'
import { gatherNames, type NamedSite } from './names.ts'
import { phpLimitsOf, sitePhpOf } from './php/settings.ts'

/** Subscriptions of a page. */
const PAGE = 500
/** Sites after which a page ends, and that are read at a time. */
const SITES_OF_PAGE = 500

/** What changed for a node after a revision, the oldest first. */
export type ReadDesired = (nodeId: NodeId, revision: number) => Promise<DesiredChanges>

/** What is sealed, or decided elsewhere. */
export type Readers = { readTls: ReadTls; readEnvironment: ReadEnvironment }

type PartsOfSite = {
  releases: Releases | undefined
  tls: DesiredTls | undefined
  environment: Variable[] | undefined
}

type Releases = { toUnpack: DesiredRelease[]; kept: number[]; numbers: Map<number, number> }

/** What changed for a node after a revision, the oldest first. */
export async function readDesired(
  store: ReadStore,
  nodeId: NodeId,
  revision: number,
  readers: Readers,
): Promise<DesiredChanges> {
  const changed = await desired.changedAfter(store.read, nodeId, revision, PAGE)
  const found: DesiredSubscription[] = []
  let last = revision
  let siteCount = 0
  for (const row of changed) {
    if (siteCount >= SITES_OF_PAGE) break
    const subscription = await readSubscription(store.read, row.subscriptionId, readers)
    found.push(subscription)
    siteCount += subscription.sites.length
    last = row.revision
  }
  return { revision: last, subscriptions: found, hasMore: found.length < changed.length || changed.length === PAGE }
}

/** A subscription of which no row is left is `deleting`. */
async function readSubscription(queries: Queries, id: number, readers: Readers): Promise<DesiredSubscription> {
  const [row] = await queries.select().from(subscriptions).where(eq(subscriptions.id, id))
  const removed = (await desired.removalsOf(queries, id)).map(({ siteId }) => removedSite(siteId))
  const present = row ? await readSites(queries, id, releaseLimits(row), readers) : []
  return {
    id,
    state: row?.status ?? 'deleting',
    ...(row && { php: phpLimitsOf(row), sshKeys: await readSshKeys(queries, id) }),
    sites: [...present, ...removed],
  }
}

async function readSshKeys(queries: Queries, subscriptionId: number): Promise<string[]> {
  const rows = await queries
    .select({ type: sshKeys.type, blob: sshKeys.blob })
    .from(sshKeys)
    .where(eq(sshKeys.subscriptionId, subscriptionId))
    .orderBy(asc(sshKeys.id))
  return rows.map(({ type, blob }) => `${type} ${blob}`)
}

async function readSites(
  queries: Queries,
  subscriptionId: number,
  limits: ReleaseLimits,
  readers: Readers,
): Promise<DesiredSite[]> {
  const found: DesiredSite[] = []
  for (let afterId = 0; ; ) {
    const page = await readPageOfSites(queries, subscriptionId, afterId)
    const releases = await readReleases(queries, page, limits)
    const tls = await readers.readTls(queries, page)
    const environments = await readers.readEnvironment(queries, page)
    found.push(
      ...page.map((site) =>
        desiredSite(site, {
          releases: releases.get(site.id),
          tls: tls.get(site.id),
          environment: environments.get(site.id),
        }),
      ),
    )
    if (page.length < SITES_OF_PAGE) return found
    afterId = page.at(-1)?.id ?? 0
    await nextTurn()
  }
}

async function readPageOfSites(queries: Queries, subscriptionId: number, afterId: number): Promise<NamedSite[]> {
  const inPage = queries
    .select({ id: sites.id })
    .from(sites)
    .where(and(eq(sites.subscriptionId, subscriptionId), gt(sites.id, afterId)))
    .orderBy(asc(sites.id))
    .limit(SITES_OF_PAGE)
  return gatherNames(
    await queries
      .select({ site: sites, name: siteDomains.domain })
      .from(sites)
      .innerJoin(siteDomains, eq(siteDomains.siteId, sites.id))
      .where(inArray(sites.id, inPage))
      .orderBy(asc(sites.id), asc(siteDomains.position)),
  )
}

/** The deployments that a node has to know of, by site. */
async function readReleases(
  queries: Queries,
  page: NamedSite[],
  limits: ReleaseLimits,
): Promise<Map<number, Releases>> {
  const bySite = new Map<number, Releases>()
  const ids = page.map(({ id }) => id)
  if (ids.length === 0) return bySite
  const rows = await queries
    .select()
    .from(deployments)
    .where(
      and(
        inArray(deployments.siteId, ids),
        inArray(deployments.status, ['unpacking', 'ready', 'active', 'superseded']),
      ),
    )
  const publicDirs = new Map(page.map(({ id, publicDir }) => [id, publicDir]))
  for (const { id: deploymentId, siteId, number, status, sha256, archiveBytes, activates } of rows) {
    const releases: Releases = bySite.get(siteId) ?? { toUnpack: [], kept: [], numbers: new Map() }
    bySite.set(siteId, releases)
    releases.numbers.set(deploymentId, number)
    if (status !== 'unpacking') {
      releases.kept.push(number)
      continue
    }
    const publicDir = activates ? (publicDirs.get(siteId) ?? null) : null
    releases.toUnpack.push({ deploymentId, number, sha256, archiveBytes, limits, publicDir })
  }
  return bySite
}

function desiredSite(site: NamedSite, { releases, tls, environment }: PartsOfSite): DesiredSite {
  const { id, generation, domain, aliases, kind, phpVersion, spa, publicDir, healthPath, deploymentId } = site
  const present = site.isEnabled ? 'serving' : 'disabled'
  return {
    id,
    generation,
    state: site.isDeleting ? 'deleting' : present,
    names: [domain, ...aliases],
    kind,
    phpVersion,
    ...(kind === 'php' && { php: sitePhpOf(site) }),
    ...(environment && { environment }),
    spa,
    publicDir,
    healthPath,
    release: deploymentId === null ? null : (releases?.numbers.get(deploymentId) ?? null),
    toUnpack: (releases?.toUnpack ?? []).toSorted((one, other) => one.number - other.number),
    kept: releases?.kept ?? [],
    ...(tls && { tls }),
  }
}

/** A site of which only the id is known: it has to be removed. */
function removedSite(id: number): DesiredSite {
  return {
    id,
    generation: 0,
    state: 'deleting',
    names: [],
    kind: 'static',
    phpVersion: null,
    spa: false,
    publicDir: null,
    healthPath: null,
    release: null,
    toUnpack: [],
    kept: [],
  }
}
