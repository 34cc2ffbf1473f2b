/** Deployments: uploaded archives, numbered by site. A node unpacks and serves them, and its reports say what became of each. */
import { Readable } from 'node:stream'
import { and, count, desc, eq, lt, sum } from 'drizzle-orm'
import type { Actor, Caller, Operator } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { pieceOf, readPage } from '../../../db/page-reader.ts'
import { one } from '../../../db/statements.ts'
import type { Conclude, Queries, ReadStore } from '../../../db/store.ts'
import { deployments, sites } from '../../../db/tables.ts'
import { desired } from '../../../node/desired-states.ts'
import { diskLeft } from '../../../node/limits.ts'
import type { ReadAs, WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { RecordEvent } from '../events/events.ts'
import type { FoundSite, SiteAccess, SiteRef } from '../site-access.ts'
import type { Serving } from '../sites/serving.ts'
import type { Subscription } from '../subscriptions/scope.ts'
import { isChanging, type WaitUntilObserved } from '../wait.ts'
import type { Archive, Archives } from './archives.ts'
import type { Deployment, FindDeployment } from './find-deployment.ts'
import type { UploadLimits } from './limits.ts'
import type { UploadRoom } from './room.ts'

export type NewDeployment = Pick<Deployment, 'message' | 'commit' | 'activates'>

export type DeploymentsOptions = {
  store: ReadStore
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  readAs: ReadAs
  waitUntilObserved: WaitUntilObserved
  siteAccess: SiteAccess
  find: FindDeployment
  serving: Serving
  recordEvent: RecordEvent
  archives: Archives
  room: UploadRoom
  limits: Pick<UploadLimits, 'waiting'>
}

export type Deployments = ReturnType<typeof createDeployments>

export function createDeployments(options: DeploymentsOptions) {
  const { store, clock, audit, writeAs, readAs, waitUntilObserved } = options
  const { siteAccess, find, serving, recordEvent, archives, room, limits } = options

  /** @throws AppError `conflict`, `payload_too_large` for a site that takes no such deployment as things are */
  async function requireDeployable(
    queries: Queries,
    { site, subscription }: FoundSite,
    archiveBytes: number,
  ): Promise<void> {
    if (subscription.status !== 'active') throw new AppError('conflict', 'The subscription is suspended')
    if (site.isDeleting) throw new AppError('conflict', 'The site is being deleted')
    serving.requireDriver(site.nodeId)
    const { maxArchiveBytes } = subscription
    if (archiveBytes > maxArchiveBytes) {
      throw new AppError(
        'payload_too_large',
        `An archive of this subscription must be at most ${maxArchiveBytes} bytes`,
      )
    }
    await requireDiskRoom(queries, subscription)
  }

  /** Archives that wait count as what they are yet to become, so that uploads at the same time do not all pass. */
  async function requireDiskRoom(queries: Queries, subscription: Subscription): Promise<void> {
    const { waiting, waitingBytes } = await one(
      queries
        .select({ waiting: count(), waitingBytes: sum(deployments.archiveBytes).mapWith(Number) })
        .from(deployments)
        .innerJoin(sites, eq(sites.id, deployments.siteId))
        .where(and(eq(sites.subscriptionId, subscription.id), eq(deployments.status, 'unpacking'))),
    )
    if (waiting >= limits.waiting) {
      throw new AppError('conflict', `${limits.waiting} deployments of this subscription wait to be unpacked already`)
    }
    if ((diskLeft(subscription) ?? Infinity) > (waitingBytes ?? 0)) return
    throw new AppError('conflict', `The subscription's disk limit of ${subscription.maxDiskBytes} bytes is reached`)
  }

  async function insert(tx: Queries, actor: Actor, siteId: number, archive: Archive, wanted: NewDeployment) {
    const [newest] = await tx
      .select({ number: deployments.number })
      .from(deployments)
      .where(eq(deployments.siteId, siteId))
      .orderBy(desc(deployments.number))
      .limit(1)
    return one(
      tx
        .insert(deployments)
        .values({
          siteId,
          number: (newest?.number ?? 0) + 1,
          status: 'unpacking',
          sha256: archive.sha256,
          archiveBytes: archive.bytes,
          ...wanted,
          createdBy: actor.kind === 'user' ? actor.userId : null,
          createdAt: clock.now(),
        })
        .returning(),
    )
  }

  /** @throws AppError `conflict` */
  async function add(tx: Queries, actor: Actor, found: FoundSite, archive: Archive, wanted: NewDeployment) {
    await requireDeployable(tx, found, archive.bytes)
    const { site, subscription } = found
    const created = await insert(tx, actor, site.id, archive, wanted)
    const { id, number, createdAt: at } = created
    await desired.announce(tx, site.subscriptionId)
    await recordEvent(tx, { site, kind: 'deployment.created', details: { deploymentId: id, number }, at })
    await audit(tx, actor, {
      action: 'deployment.create',
      accountId: subscription.userId,
      target: { type: 'deployment', id },
      details: { siteId: site.id, number, sha256: archive.sha256, archiveBytes: archive.bytes },
    })
    return created
  }

  return {
    /** @throws AppError `not_found`, `forbidden` */
    async requireSite(caller: Caller, ref: SiteRef): Promise<void> {
      await siteAccess.find(store.read, caller, ref)
    },

    /** @throws AppError `not_found`, `forbidden` */
    find: async (caller: Caller, ref: SiteRef, id: number): Promise<Deployment> =>
      (await find(store.read, caller, ref, id)).deployment,

    /**
     * A deployment once its node has nothing more to do for it, or as it is when patience ends: it is served, it failed, it
     * is ready and was not to be served, or a later one took its place.
     *
     * @throws AppError `not_found`, also once its site is gone, `forbidden`, and what a caller gets who has lost the right to
     * ask
     */
    findObserved: (caller: Caller, ref: SiteRef, id: number, patienceMs: number): Promise<Deployment> =>
      waitUntilObserved(
        () =>
          readAs(caller, async (queries, caller) => {
            const { site, deployment } = await find(queries, caller, ref, id)
            const { status } = deployment
            const isKept = status === 'ready' || status === 'superseded'
            const isToBeServed = isKept && site.deploymentId === id && isChanging(site)
            return { seen: deployment, isObserved: status !== 'unpacking' && !isToBeServed }
          }),
        patienceMs,
      ),

    /** Newest first. @throws AppError `not_found`, `forbidden` */
    async list(caller: Caller, ref: SiteRef, page: PageRequest): Promise<Page<Deployment>> {
      const { site } = await siteAccess.find(store.read, caller, ref)
      return readPage(store, page, async (afterId, wanted) =>
        pieceOf(
          await store.read
            .select()
            .from(deployments)
            .where(and(eq(deployments.siteId, site.id), afterId === 0 ? undefined : lt(deployments.id, afterId)))
            // In the order of ids too, and of an index of the site.
            .orderBy(desc(deployments.number))
            .limit(wanted),
          wanted,
        ),
      )
    },

    /**
     * Receives an archive once rights and room have been asked for, and removes it unless `work` has made a deployment of it.
     *
     * @param sha256 what the client says that it sends; undefined if it does not say
     * @throws AppError `not_found`, `forbidden`, `conflict`, `payload_too_large`, `rate_limited`, `unavailable`,
     * `validation_error`
     */
    async receive<Result>(
      caller: Caller,
      ref: SiteRef,
      { length, chunks, sha256 }: { length: number; chunks: AsyncIterable<Uint8Array>; sha256: string | undefined },
      work: (archive: Archive) => Promise<Result>,
    ): Promise<Result> {
      const found = await siteAccess.find(store.read, caller, ref)
      await requireDeployable(store.read, found, length)
      return room.within(found.subscription.id, length, async () => {
        const archive = await archives.receive(chunks)
        try {
          if (sha256 !== undefined && sha256 !== archive.sha256) {
            throw new AppError('validation_error', 'X-Content-SHA256: is not the digest of the body that arrived')
          }
          return await work(archive)
        } finally {
          await archives.discard(archive)
        }
      })
    },

    /** @throws AppError `not_found`, `forbidden`, `conflict` */
    async create(
      caller: Caller,
      ref: SiteRef,
      archive: Archive,
      wanted: NewDeployment,
      conclude?: Conclude<Deployment>,
    ): Promise<Deployment> {
      return archives.place(archive, (rename) =>
        writeAs(caller, async (tx, caller) => {
          const created = await add(tx, caller, await siteAccess.find(tx, caller, ref), archive, wanted)
          await conclude?.(tx, created)
          // Last: whatever fails before it leaves the archive to be discarded.
          rename(created.id)
          return created
        }),
      )
    },

    /** For the command line. @throws AppError `not_found`, `conflict` */
    async createFor(actor: Operator, siteId: number, archive: Uint8Array): Promise<Deployment> {
      const received = await archives.receive(Readable.from([archive]))
      try {
        return await archives.place(received, (rename) =>
          writeAs(actor, async (tx, actor) => {
            const wanted = { message: null, commit: null, activates: true }
            const created = await add(tx, actor, await siteAccess.get(tx, siteId), received, wanted)
            rename(created.id)
            return created
          }),
        )
      } finally {
        await archives.discard(received)
      }
    },

    /** Removes the archives that no node has to unpack. */
    removeArchives: () =>
      archives.removeOthers(async (id) => {
        const [row] = await store.read
          .select({ status: deployments.status })
          .from(deployments)
          .where(eq(deployments.id, id))
        return row?.status === 'unpacking'
      }),

    /** Resolves when no upload is under way. */
    idle: room.idle,
  }
}
