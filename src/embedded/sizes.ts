/** Measures what the sites take on the disk, and reports what has changed. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '../core/error-code.ts'
import type { NodeLink, NodeReport } from '../node/protocol.ts'
import { addUse, type DiskUse, diskUse, NO_USE } from '../system/disk-use.ts'
import type { ServedSite } from './site.ts'

export type SizesOptions = {
  /** Of a site: holds a directory for each release. */
  releasesOf(siteId: number): string
  logsOf(siteId: number): string
  /** Holds deleted sites, named `<subscription>-<site>-<time>`. */
  trash: string
  sites(): readonly Pick<ServedSite, 'id' | 'subscriptionId'>[]
  link: Pick<NodeLink, 'report'>
}

type Sizes = Required<Pick<NodeReport, 'sizes' | 'subscriptionSizes'>>

/** Sizes of one report. */
const BATCH = 500
/** Its name is a number; one that is being unpacked has another. */
const FINISHED = /^\d+$/
const DISCARDED = /^(\d+)-\d+-\d+$/

export function createSizes({ releasesOf, logsOf, trash, sites, link }: SizesOptions) {
  /** By path: a release and what is in the trash never change. */
  let known = new Map<string, DiskUse>()
  const reportedSites = new Map<number, DiskUse>()
  const reportedSubscriptions = new Set<number>()

  /** What does not change is measured once. @param still takes what is to be remembered until the next time */
  async function measure(path: string, still: Map<string, DiskUse>): Promise<DiskUse> {
    const use = known.get(path) ?? (await diskUse(path))
    still.set(path, use)
    return use
  }

  async function measureSite(siteId: number, still: Map<string, DiskUse>): Promise<DiskUse> {
    const releases = releasesOf(siteId)
    let sum = NO_USE
    for (const name of (await unlessMissing(readdir(releases))) ?? []) {
      const path = join(releases, name)
      sum = addUse(sum, await (FINISHED.test(name) ? measure(path, still) : diskUse(path)))
    }
    return sum
  }

  /** By subscription, in bytes. */
  async function measureTrash(still: Map<string, DiskUse>): Promise<Map<number, number>> {
    const found = new Map<number, number>()
    for (const name of (await unlessMissing(readdir(trash))) ?? []) {
      const [, subscription] = DISCARDED.exec(name) ?? []
      if (subscription === undefined) continue
      const { bytes } = await measure(join(trash, name), still)
      found.set(Number(subscription), (found.get(Number(subscription)) ?? 0) + bytes)
    }
    return found
  }

  async function measureAll(stopping: AbortSignal): Promise<Sizes | undefined> {
    const still = new Map<string, DiskUse>()
    const sizes: Sizes['sizes'] = []
    const subscriptions = await measureTrash(still)
    for (const { id, subscriptionId } of sites()) {
      if (stopping.aborted) return undefined
      const use = await measureSite(id, still)
      sizes.push({ siteId: id, ...use })
      const { bytes } = addUse(use, await diskUse(logsOf(id)))
      subscriptions.set(subscriptionId, (subscriptions.get(subscriptionId) ?? 0) + bytes)
    }
    known = still
    const present = new Set(sizes.map(({ siteId }) => siteId))
    for (const id of reportedSites.keys()) if (!present.has(id)) reportedSites.delete(id)
    // Those of which nothing is left.
    for (const id of reportedSubscriptions) if (!subscriptions.has(id)) subscriptions.set(id, 0)
    return {
      sizes,
      subscriptionSizes: [...subscriptions].map(([subscriptionId, bytes]) => ({
        subscriptionId,
        bytes,
        enforced: 'measured',
      })),
    }
  }

  async function report(sizes: Partial<Sizes>): Promise<void> {
    await link.report({ sites: [], releases: [], removedSubscriptions: [], ...sizes })
    for (const { siteId, bytes, files } of sizes.sizes ?? []) reportedSites.set(siteId, { bytes, files })
    for (const { subscriptionId } of sizes.subscriptionSizes ?? []) reportedSubscriptions.add(subscriptionId)
  }

  /** @param stopping ends it after the current site */
  return async (stopping: AbortSignal): Promise<void> => {
    const measured = await measureAll(stopping)
    if (!measured) return
    const sizes = measured.sizes.filter(({ siteId, bytes, files }) => {
      const last = reportedSites.get(siteId)
      return last?.bytes !== bytes || last.files !== files
    })
    // All of them: the panel has added what was unpacked since.
    const { subscriptionSizes } = measured
    for (let from = 0; from < sizes.length; from += BATCH) await report({ sizes: sizes.slice(from, from + BATCH) })
    for (let from = 0; from < subscriptionSizes.length; from += BATCH) {
      await report({ subscriptionSizes: subscriptionSizes.slice(from, from + BATCH) })
    }
  }
}
