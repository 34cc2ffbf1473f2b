/** Unpacks the archives that are wanted, each beside what is served, and reports what became of them. */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../core/error-code.ts'
import { pause } from '../core/pause.ts'
import { createSemaphore } from '../core/semaphore.ts'
import { type Backoff, delayAfter } from '../jobs/backoff.ts'
import type { Log } from '../log/log.ts'
import type { CheckHealth } from './health.ts'
import type { DesiredRelease, DesiredSite, Failure, NodeLink, ReleaseLimits, ReleaseReport } from './protocol.ts'

/** What unpacking comes to; see `unpack/result.ts`. */
export type Unpacked =
  | { ok: true; files: number; bytes: number }
  | { ok: false; code: string; entry: string | null; line: number | null; message: string; detail?: string }

export type Place = { subscriptionId: number; siteId: number; limits?: ReleaseLimits | undefined }

/** Unpacks the archive behind a descriptor into an empty directory, by the rules of `ncp unpack`. */
export type Unpack = (archive: number, release: string, place: Place, signal: AbortSignal) => Promise<Unpacked>

/** Where archives come from, and releases go. */
export type ReleaseFiles = {
  /** @throws Error ENOENT where there is none */
  openArchive(wanted: DesiredRelease, signal: AbortSignal): Promise<FileHandle>
  removeArchive(deploymentId: number): Promise<void>
  /** An empty directory to unpack a release in. What an earlier attempt left is removed. */
  beginRelease(place: Place, number: number): Promise<string>
  isDirectory(path: string): Promise<boolean>
  /** @param release finished or not */
  abandonRelease(release: string): Promise<void>
  /** Gives a release its name, once all of it is on the disk. @returns where it is then */
  finishRelease(place: Place, number: number, unfinished: string): Promise<string>
}

export type ReleasesOptions = {
  files: ReleaseFiles
  unpack: Unpack
  link: NodeLink
  /** Resolves when what was reported is on the disk. */
  durable(): Promise<void> | undefined
  log: Log
}

type Job = {
  place: Place
  /** As it was told last: the site may change while the archive is unpacked. */
  wanted: DesiredRelease
  /** Undefined where the site has no health path. */
  checkHealth: CheckHealth | undefined
  cut: AbortController
  /** Undefined before its first turn. */
  working: Promise<void> | undefined
}

export type Releases = ReturnType<typeof createReleases>

/** Archives unpacked at a time, over all sites. */
const AT_A_TIME = 2
/** Far more than can wait: the panel takes no more uploads by then. */
const MOST_WAITING = 100_000
const BACKOFF: Backoff = { firstDelayMs: 1000, longestDelayMs: 5 * 60 * 1000 }
const CHUNK = 256 * 1024

export function createReleases({ files, unpack, link, durable, log }: ReleasesOptions) {
  const turns = createSemaphore(AT_A_TIME, MOST_WAITING)
  /** By deployment: what is being unpacked or waits for its turn. */
  const underWay = new Map<number, Job>()
  /** By subscription: settles with the last of those that wait for each other. */
  const newest = new Map<number, Promise<void>>()

  async function make(job: Job): Promise<ReleaseReport | undefined> {
    const { place, wanted } = job
    const { siteId } = place
    const { signal } = job.cut
    const { deploymentId, number } = wanted
    const subject = { siteId, deploymentId }
    let archive: FileHandle
    try {
      archive = await files.openArchive(wanted, signal)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
      return { ...subject, state: 'failed', failure: lostArchive }
    }
    try {
      if (!(await isWanted(archive, wanted))) return { ...subject, state: 'failed', failure: damagedArchive }
      const unfinished = await files.beginRelease(place, number)
      const unpacked = await unpack(archive.fd, unfinished, { ...place, limits: wanted.limits }, signal)
      const result = unpacked.ok ? await withPublicDir(unpacked, unfinished, job.wanted) : unpacked
      if (signal.aborted || !result.ok) await files.abandonRelease(unfinished)
      // It is unpacked again at the next start, or never, when its site is being deleted.
      if (signal.aborted) return undefined
      if (!result.ok) {
        if (result.detail !== undefined) log.error({ site_id: siteId, number, detail: result.detail }, result.message)
        const { code, message, entry, line } = result
        return { ...subject, state: 'failed', failure: { ...failureOf(code, message), entry, line } }
      }
      const release = await files.finishRelease(place, number, unfinished)
      const reason = await job.checkHealth?.(number, signal)
      if (signal.aborted) return undefined
      if (reason !== undefined) {
        await files.abandonRelease(release)
        return { ...subject, state: 'failed', failure: failureOf('health_check_failed', reason) }
      }
      return { ...subject, state: 'ready', files: result.files, bytes: result.bytes }
    } finally {
      await archive.close()
    }
  }

  /** Refused here, a release leaves the one that is served in its place. */
  async function withPublicDir(unpacked: Unpacked, release: string, { publicDir }: DesiredRelease): Promise<Unpacked> {
    if (publicDir === null || (await files.isDirectory(join(release, publicDir)))) return unpacked
    const message = `The archive has no directory ${publicDir}, which is the public_dir of the site`
    return { ok: false, code: 'public_dir_missing', entry: null, line: null, message }
  }

  async function makeAndReport(job: Job): Promise<void> {
    const report = job.cut.signal.aborted ? undefined : await make(job)
    if (!report) return
    await link.report({ sites: [], releases: [report], removedSubscriptions: [] })
    // A power cut may undo the report: then it is unpacked again.
    await durable()
    await files.removeArchive(job.wanted.deploymentId)
  }

  /** One at a time for each subscription, and a few in all. */
  function inTurn(subscriptionId: number, work: () => Promise<void>): Promise<void> {
    const before = newest.get(subscriptionId) ?? Promise.resolve()
    const done = before.then(() => turns.run(work))
    const settled = done
      .catch(() => undefined)
      .finally(() => {
        if (newest.get(subscriptionId) === settled) newest.delete(subscriptionId)
      })
    newest.set(subscriptionId, settled)
    return done
  }

  /** Tries again until it is done or cut. */
  async function persist(job: Job): Promise<void> {
    const { place, cut } = job
    for (let failures = 1; !cut.signal.aborted; failures++) {
      try {
        return await inTurn(place.subscriptionId, () => {
          job.working = makeAndReport(job)
          return job.working
        })
      } catch (err) {
        log.error({ err, site_id: place.siteId, number: job.wanted.number }, 'a deployment could not be unpacked')
        await pause(delayAfter(BACKOFF, failures), cut.signal)
      }
    }
  }

  function begin(place: Place, wanted: DesiredRelease, checkHealth: CheckHealth | undefined): void {
    const job: Job = { place, wanted, checkHealth, cut: new AbortController(), working: undefined }
    underWay.set(wanted.deploymentId, job)
    void persist(job).finally(() => {
      if (underWay.get(wanted.deploymentId) === job) underWay.delete(wanted.deploymentId)
    })
  }

  /** Does not wait for those that wait: they do nothing when their turn comes. */
  async function cutAll(which: (siteId: number) => boolean): Promise<void> {
    const chosen = [...underWay.values()].filter(({ place }) => which(place.siteId))
    for (const { cut } of chosen) cut.abort()
    await Promise.allSettled(chosen.map(({ working }) => working))
  }

  return {
    /**
     * Begins with those that are not under way, without waiting for them, and ends those that are no longer wanted.
     *
     * @param checkHealth asked for each of them once it is unpacked; undefined: none is
     */
    want(subscriptionId: number, { id, toUnpack }: DesiredSite, checkHealth?: CheckHealth): void {
      const wanted = new Set(toUnpack.map(({ deploymentId }) => deploymentId))
      for (const [deploymentId, { place, cut }] of underWay) {
        if (place.siteId === id && !wanted.has(deploymentId)) cut.abort()
      }
      for (const one of toUnpack) {
        const job = underWay.get(one.deploymentId)
        if (job) Object.assign(job, { wanted: one, checkHealth })
        else begin({ subscriptionId, siteId: id }, one, checkHealth)
      }
    },

    /** Stops unpacking for a site that is being deleted. */
    cut: (siteId: number) => cutAll((id) => id === siteId),

    /** Stops; what is unfinished is unpacked after the next start. */
    stop: () => cutAll(() => true),
  }
}

/** Whether an archive is the one that was uploaded: what is checked is the very file that is handed over. */
async function isWanted(archive: FileHandle, { sha256, archiveBytes }: DesiredRelease): Promise<boolean> {
  const { size } = await archive.stat()
  if (size !== archiveBytes) return false
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(CHUNK)
  for (let position = 0; position < size; ) {
    // By position, so that the child reads from the beginning.
    const { bytesRead } = await archive.read(chunk, 0, CHUNK, position)
    if (bytesRead === 0) return false
    hash.update(chunk.subarray(0, bytesRead))
    position += bytesRead
  }
  return hash.digest('hex') === sha256
}

const failureOf = (code: string, message: string): Failure => ({ code, message, retryable: false, retryAt: null })
const lostArchive = failureOf('archive_lost', 'The archive is not on the server; deploy it again')
const damagedArchive = failureOf('archive_damaged', 'The archive was damaged on the server; deploy it again')
