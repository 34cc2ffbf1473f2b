/** Measures what the sites take on the disk, and reports what has changed. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '../core/error-code.ts'
import type { NodeLink, SiteSize } from '../node/protocol.ts'
import { addUse, type DiskUse, diskUse, NO_USE } from '../system/disk-use.ts'

export type SizesOptions = {
  /** Of a site: holds a directory for each release. */
  releasesOf(siteId: number): string
  siteIds(): readonly number[]
  link: Pick<NodeLink, 'report'>
}

/** Sites of one report. */
const BATCH = 500
/** Its name is a number; one that is being unpacked has another. */
const FINISHED = /^\d+$/

export function createSizes({ releasesOf, siteIds, link }: SizesOptions) {
  /** By site and release, which never changes. */
  const known = new Map<number, Map<string, DiskUse>>()
  const reported = new Map<number, DiskUse>()

  async function measure(siteId: number): Promise<DiskUse> {
    const before = known.get(siteId)
    const finished = new Map<string, DiskUse>()
    let sum = NO_USE
    for (const name of (await unlessMissing(readdir(releasesOf(siteId)))) ?? []) {
      const use = before?.get(name) ?? (await diskUse(join(releasesOf(siteId), name)))
      if (FINISHED.test(name)) finished.set(name, use)
      sum = addUse(sum, use)
    }
    known.set(siteId, finished)
    return sum
  }

  function forgetOthers(ids: ReadonlySet<number>): void {
    for (const remembered of [known, reported]) {
      for (const id of remembered.keys()) if (!ids.has(id)) remembered.delete(id)
    }
  }

  async function report(sizes: SiteSize[]): Promise<void> {
    if (sizes.length === 0) return
    await link.report({ sites: [], releases: [], removedSubscriptions: [], sizes })
    for (const { siteId, bytes, files } of sizes) reported.set(siteId, { bytes, files })
  }

  /** @param stopping ends it after the current site */
  return async (stopping: AbortSignal): Promise<void> => {
    const ids = new Set(siteIds())
    forgetOthers(ids)
    let changed: SiteSize[] = []
    for (const siteId of ids) {
      if (stopping.aborted) return
      const use = await measure(siteId)
      const last = reported.get(siteId)
      if (last?.bytes !== use.bytes || last.files !== use.files) changed.push({ siteId, ...use })
      if (changed.length < BATCH) continue
      await report(changed)
      changed = []
    }
    await report(changed)
  }
}
