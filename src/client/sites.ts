/** The sites that a key sees, of all its subscriptions. */
import { domainToASCII } from 'node:url'
import { ClientFailure } from './failures.ts'
import type { Panel } from './panel.ts'

export type Site = {
  id: number
  subscription_id: number
  domain: string
  aliases: string[]
  status: string
  urls: string[]
}

/** Rows of a list, page by page. */
async function* pagesOf<Row>(panel: Panel, path: string): AsyncGenerator<Row> {
  for (let next: string | undefined = path; next !== undefined; ) {
    const page: { data: Row[]; next: string | undefined } = await panel.ask<Row[]>(next)
    yield* page.data
    next = page.next
  }
}

/**
 * Those of the default subscription, or of all for an administrator; then those of the others.
 *
 * @param search part of a name; undefined for all
 * @throws ClientFailure
 */
export async function* sitesOf(panel: Panel, search?: string): AsyncGenerator<Site> {
  const query = search === undefined ? '' : `&domain=${encodeURIComponent(search)}`
  const seen = new Set<number>()
  for (const within of ['', ...(await subscriptionsOf(panel)).map((id) => `&subscription_id=${id}`)]) {
    for await (const site of pagesOf<Site>(panel, `/sites?limit=1000${query}${within}`)) {
      if (!seen.has(site.id)) yield site
      seen.add(site.id)
    }
  }
}

/** None for a key that may not list them: it then sees the sites of one. */
async function subscriptionsOf(panel: Panel): Promise<number[]> {
  try {
    const found = await Array.fromAsync(pagesOf<{ id: number }>(panel, '/subscriptions?limit=1000'))
    return found.map(({ id }) => id)
  } catch (error) {
    if (error instanceof ClientFailure && error.kind === 'refused') return []
    throw error
  }
}

/** @param name the domain, an alias, or the id. @throws ClientFailure `refused` for an unknown one */
export async function findSite(panel: Panel, name: string): Promise<Site> {
  if (/^\d{1,15}$/.test(name)) return (await panel.ask<Site>(`/sites/${name}`)).data
  const wanted = domainToASCII(name).toLowerCase() || name
  for await (const site of sitesOf(panel, wanted)) {
    if ([site.domain, ...site.aliases].includes(wanted)) return site
  }
  throw new ClientFailure(
    'refused',
    `${panel.url.origin}: the key sees no site ${name}; 'ncp sites' lists those it sees`,
  )
}
