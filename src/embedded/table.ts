/** Which site is served under which name, as the reconciler has loaded it. */
import type { ServedSite, SiteTable } from './site.ts'

export type LoadedSites = ReturnType<typeof createLoadedSites>

export function createLoadedSites() {
  const sites = new Map<number, { site: ServedSite; names: readonly string[] }>()
  const byName = new Map<string, number>()

  /** Only what still leads to the site: another may have got the name since. */
  function forget(names: readonly string[], siteId: number): void {
    for (const name of names) if (byName.get(name) === siteId) byName.delete(name)
  }

  return {
    find(host) {
      const id = byName.get(host)
      return id === undefined ? undefined : sites.get(id)?.site
    },

    get: (siteId: number): ServedSite | undefined => sites.get(siteId)?.site,

    countByState(): Map<ServedSite['state'], number> {
      const counts = new Map<ServedSite['state'], number>()
      for (const { site } of sites.values()) counts.set(site.state, (counts.get(site.state) ?? 0) + 1)
      return counts
    },

    ids: (): number[] => [...sites.keys()],

    all: (): ServedSite[] => [...sites.values()].map(({ site }) => site),

    /** Serves a site from now on as it is given, under these names and no others. */
    set(site: ServedSite, names: readonly string[]): void {
      forget(sites.get(site.id)?.names ?? [], site.id)
      sites.set(site.id, { site, names })
      for (const name of names) byName.set(name, site.id)
    },

    remove(siteId: number): void {
      forget(sites.get(siteId)?.names ?? [], siteId)
      sites.delete(siteId)
    },
  } satisfies SiteTable & Record<string, unknown>
}
