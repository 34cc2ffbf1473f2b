/** What a customer does about the certificates of a site: upload one, remove it, ask for another try. */
import { and, eq, inArray, ne } from 'drizzle-orm'
import type { Caller } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { formatTimestamp } from '../../../core/timestamp.ts'
import type { SecretBox } from '../../../crypto/secret-box.ts'
import { one } from '../../../db/statements.ts'
import type { Conclude, Queries, ReadStore } from '../../../db/store.ts'
import { certificateNames, certificates, certificateWork, sites } from '../../../db/tables.ts'
import { desired } from '../../../node/desired-states.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { RecordEvent } from '../events/events.ts'
import type { SiteAccess, SiteRef } from '../site-access.ts'
import type { Serving } from '../sites/serving.ts'
import { coversName } from '../tls/choice.ts'
import { keyContext } from '../tls/rows.ts'
import { NO_AUTHORITY, NO_TLS, type SiteTls, tlsOf } from '../tls/state.ts'
import { refreshTls } from '../tls/summary.ts'
import { requireNoForeignNames } from './foreign-names.ts'
import { readNameStates } from './name-states.ts'
import { type CertifiedSite, readSite } from './site.ts'
import { readUpload } from './upload.ts'

export type CertificatesOptions = {
  store: ReadStore
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  siteAccess: SiteAccess
  serving: Serving
  recordEvent: RecordEvent
  secretBox: SecretBox
}

export type Certificates = ReturnType<typeof createCertificates>

/** Since the last attempt, of a name that did not lead to its node. */
const RECHECK_MS = 60_000
/** Of a name that an authority refused: it counts failures, five an hour at Let's Encrypt. */
const REORDER_MS = 15 * 60_000

export function createCertificates(options: CertificatesOptions) {
  const { clock, audit, writeAs, siteAccess, serving, recordEvent, secretBox, store } = options

  /** @throws AppError `not_found`, `forbidden`, and `conflict` for a site whose certificates cannot change as things are */
  async function findChangeable(tx: Queries, caller: Caller, ref: SiteRef) {
    const { site: row, subscription } = await siteAccess.find(tx, caller, ref)
    if (subscription.status !== 'active') throw new AppError('conflict', 'The subscription is suspended')
    const site = await readSite(tx, ref.id)
    if (!site || site.isDeleting) throw new AppError('conflict', 'The site is being deleted')
    if (!serving.of(row.nodeId).tls) throw new AppError('conflict', NO_TLS)
    return { site, ownerId: subscription.userId }
  }

  /** @returns how its certificates stand now */
  async function conclude(tx: Queries, site: CertifiedSite): Promise<SiteTls> {
    await refreshTls(tx, site.id, clock.now())
    await tx.update(certificateWork).set({ dueAt: 0 }).where(eq(certificateWork.siteId, site.id))
    await desired.announce(tx, site.subscriptionId)
    const { tls, nodeId } = await one(tx.select().from(sites).where(eq(sites.id, site.id)))
    const [domain = '', ...aliases] = site.names
    return tlsOf({ domain, aliases, tls }, serving.of(nodeId).tls)
  }

  const uploadedOf = (siteId: number) => and(eq(certificates.siteId, siteId), eq(certificates.source, 'uploaded'))

  return {
    /** @throws AppError `not_found`, `forbidden` */
    async requireSite(caller: Caller, ref: SiteRef): Promise<void> {
      await siteAccess.find(store.read, caller, ref)
    },

    /**
     * In place of the one that was uploaded before.
     *
     * @throws AppError `not_found`, `forbidden`, `conflict`, `validation_error`
     */
    async upload(
      caller: Caller,
      ref: SiteRef,
      texts: { certificate: string; privateKey: string },
      done?: Conclude<SiteTls>,
    ): Promise<SiteTls> {
      // First, so that a caller without the right learns nothing about the certificate.
      await siteAccess.find(store.read, caller, ref)
      const { chain, key } = readUpload(texts, clock.now())
      return writeAs(caller, async (tx, caller) => {
        const { site, ownerId } = await findChangeable(tx, caller, ref)
        const { names, fingerprint, issuer, notBefore, notAfter, pem } = chain
        requireOwnName(site, names)
        await requireNoForeignNames(tx, caller, ownerId, names)
        await tx.delete(certificates).where(uploadedOf(site.id))
        const now = clock.now()
        const sealedKey = secretBox.seal(key, keyContext(site.id, fingerprint))
        const { id } = await one(
          tx
            .insert(certificates)
            .values({
              siteId: site.id,
              source: 'uploaded',
              names: JSON.stringify(names),
              chain: pem,
              sealedKey,
              fingerprint,
              issuer,
              notBefore,
              notAfter,
              isServed: false,
              createdAt: now,
            })
            .returning({ id: certificates.id }),
        )
        const details = { names, issuer, fingerprint, notAfter: formatTimestamp(notAfter) }
        await recordEvent(tx, { site, kind: 'certificate.uploaded', details, at: now })
        await audit(tx, caller, {
          action: 'certificate.upload',
          accountId: ownerId,
          target: { type: 'certificate', id },
          details: { siteId: site.id, ...details },
        })
        const tls = await conclude(tx, site)
        await done?.(tx, tls)
        return tls
      })
    },

    /** @throws AppError `not_found`, also where none was uploaded, `forbidden`, `conflict` */
    async remove(caller: Caller, ref: SiteRef): Promise<SiteTls> {
      return writeAs(caller, async (tx, caller) => {
        const { site, ownerId } = await findChangeable(tx, caller, ref)
        const [removed] = await tx.delete(certificates).where(uploadedOf(site.id)).returning()
        if (!removed) throw new AppError('not_found', 'No certificate was uploaded for this site')
        const details = { fingerprint: removed.fingerprint }
        await recordEvent(tx, { site, kind: 'certificate.deleted', details, at: clock.now() })
        await audit(tx, caller, {
          action: 'certificate.delete',
          accountId: ownerId,
          target: { type: 'certificate', id: removed.id },
          details: { siteId: site.id, ...details },
        })
        return conclude(tx, site)
      })
    },

    /**
     * Tries the names at once that would be tried again later.
     *
     * @throws AppError `not_found`, `forbidden`, and `conflict` where nothing waits, or was tried a moment ago
     */
    async retry(caller: Caller, ref: SiteRef): Promise<SiteTls> {
      return writeAs(caller, async (tx, caller) => {
        const { site, ownerId } = await findChangeable(tx, caller, ref)
        if (!serving.isOrdering) throw new AppError('conflict', NO_AUTHORITY)
        const states = await readNameStates(tx, site.names)
        const rows = Array.from(states, ([, row]) => row).filter(({ state }) => state !== 'ordering')
        const now = clock.now()
        const waiting = rows.filter(({ retryAt }) => retryAt > now)
        if (waiting.length === 0) throw new AppError('conflict', 'No name of this site waits for another try')
        const freeAt = (row: (typeof rows)[number]) =>
          row.attemptedAt + (row.state === 'failed' ? REORDER_MS : RECHECK_MS)
        const free = waiting.filter((row) => freeAt(row) <= now).map(({ name }) => name)
        if (free.length === 0) {
          const at = formatTimestamp(Math.min(...waiting.map(freeAt)))
          throw new AppError('conflict', `Its names were tried a moment ago; they may be tried again at ${at}`)
        }
        // Its failures still count: another one makes the wait longer.
        const ofFree = and(inArray(certificateNames.name, free), ne(certificateNames.state, 'ordering'))
        await tx.update(certificateNames).set({ retryAt: now }).where(ofFree)
        await audit(tx, caller, {
          action: 'certificate.retry',
          accountId: ownerId,
          target: { type: 'site', id: site.id },
          details: { names: free },
        })
        return conclude(tx, site)
      })
    },
  }
}

/** @throws AppError `validation_error` for a certificate that is no use to the site */
function requireOwnName(site: CertifiedSite, names: readonly string[]): void {
  if (site.names.some((name) => coversName(names, name))) return
  const named = names.slice(0, 5).join(', ')
  throw new AppError(
    'validation_error',
    `certificate: is for ${named}${names.length > 5 ? ', …' : ''}, and this site has none of these names`,
  )
}
