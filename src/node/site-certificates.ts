/** Does what is wanted for the certificates of sites, one site at a time, and reports what it sees. */
import { X509Certificate } from 'node:crypto'
import type { Awaitable } from '../core/awaitable.ts'
import { pause } from '../core/pause.ts'
import { createSemaphore } from '../core/semaphore.ts'
import { type Backoff, delayAfter } from '../jobs/backoff.ts'
import type { Log } from '../log/log.ts'
import type { CertificateKeys } from './certificate-keys.ts'
import type { CertificateReport, DesiredSite, DesiredTls, NodeLink } from './protocol.ts'
import type { ProveCertificate } from './prove-certificate.ts'

/** A certificate with its key in PEM, and the names that are served with it. */
export type LoadedCertificate = { id: number; names: readonly string[]; cert: string; key: string }

/** What serves sites over HTTPS. */
export type Secure = {
  /**
   * Serves the names of a site with these certificates, in place of those that it had.
   *
   * @returns once they are served
   * @throws Error for a certificate or key that cannot be used; then the site keeps what it had
   */
  show(siteId: number, certificates: readonly LoadedCertificate[]): Promise<void>
  prove: ProveCertificate
}

/** Answers by which a name proves that it leads here. */
export type ChallengeAnswers = {
  /** In place of those that the site had. */
  set(siteId: number, challenges: readonly { token: string; answer: string }[]): void
}

export type SiteCertificatesOptions = {
  link: NodeLink
  challenges: ChallengeAnswers
  keys: CertificateKeys
  /** Undefined where sites are not served over HTTPS: then there are only keys to remove. */
  secure: Secure | undefined
  /** Resolves when what was read is on the disk. */
  durable(): Awaitable<void>
  log: Log
}

type Work = { tls: DesiredTls; changed: AbortController; reported: Set<string>; running: Promise<void> | undefined }

export type SiteCertificates = ReturnType<typeof createSiteCertificates>

const NOTHING: DesiredTls = { challenges: [], requests: [], certificates: [] }
const BACKOFF: Backoff = { firstDelayMs: 1000, longestDelayMs: 5 * 60 * 1000 }
/** Sites seen to at a time, while others wait. */
const SIDE_BY_SIDE = 8
const MOST_WAITING = 1_000_000

export function createSiteCertificates({ link, challenges, keys, secure, durable, log }: SiteCertificatesOptions) {
  const stopping = new AbortController()
  const turns = createSemaphore(SIDE_BY_SIDE, MOST_WAITING)
  const works = new Map<number, Work>()

  /** Reports what was not reported before. */
  async function report(
    siteId: number,
    { reported }: Work,
    news: { certificates?: CertificateReport[]; tokens?: string[] },
  ): Promise<void> {
    const certificates = (news.certificates ?? []).filter((one) => !reported.has(keyOf(one)))
    const tokens = (news.tokens ?? []).filter((token) => !reported.has(token))
    if (certificates.length === 0 && tokens.length === 0) return
    const placed = tokens.map((token) => ({ siteId, token }))
    await link.report({ sites: [], releases: [], removedSubscriptions: [], certificates, challenges: placed })
    for (const one of certificates) reported.add(keyOf(one))
    for (const token of tokens) reported.add(token)
  }

  /** Those whose key is here. */
  async function load(siteId: number, work: Work): Promise<LoadedCertificate[]> {
    const loaded: LoadedCertificate[] = []
    for (const { id, names, chain, key: given } of work.tls.certificates) {
      const key = given ?? (await keys.read(siteId, id))
      if (key !== undefined) loaded.push({ id, names, cert: chain, key })
      else await report(siteId, work, { certificates: [{ siteId, certificateId: id, state: 'key_missing' }] })
    }
    return loaded.filter(({ names }) => names.length > 0)
  }

  /** @returns what is served of the site once the listener has it */
  async function prepare({ show }: Secure, siteId: number, work: Work) {
    const { tls } = work
    await report(siteId, work, { tokens: tls.challenges.map(({ token }) => token) })
    for (const { id, names } of tls.requests) {
      if (work.reported.has(`requested ${id}`)) continue
      const csr = await keys.request(siteId, id, names)
      await report(siteId, work, { certificates: [{ siteId, certificateId: id, state: 'requested', csr }] })
    }
    const loaded = await load(siteId, work)
    return { loaded, served: show(siteId, loaded) }
  }

  async function finish({ prove }: Secure, siteId: number, work: Work, loaded: LoadedCertificate[]): Promise<void> {
    for (const certificate of loaded) {
      if (work.reported.has(`serving ${certificate.id}`)) continue
      await requireServed(prove, certificate)
      await report(siteId, work, { certificates: [{ siteId, certificateId: certificate.id, state: 'serving' }] })
    }
    // One that is unloaded keeps its keys: only a site that is there, or one that is to be removed, loses any.
    if (works.get(siteId) !== work) return
    const { requests, certificates } = work.tls
    await keys.keepOnly(siteId, new Set([...requests, ...certificates].map(({ id }) => id)), durable)
  }

  async function see(secure: Secure, siteId: number, work: Work, changed: AbortSignal): Promise<void> {
    const { loaded, served } = await turns.run(() => prepare(secure, siteId, work))
    // Without a turn: one new listener takes the certificates of all that wait for it.
    await served
    if (!changed.aborted) await turns.run(() => finish(secure, siteId, work, loaded))
  }

  /** Until what is wanted is done, or something else is wanted. */
  async function persist(secure: Secure, siteId: number, work: Work, changed: AbortSignal): Promise<void> {
    for (let failures = 1; !changed.aborted && !stopping.signal.aborted; failures++) {
      try {
        return await see(secure, siteId, work, changed)
      } catch (err) {
        log.error({ err, site_id: siteId }, 'the certificates of a site could not be served as they should be')
        await pause(delayAfter(BACKOFF, failures), AbortSignal.any([changed, stopping.signal]))
      }
    }
  }

  function begin(secure: Secure, siteId: number, work: Work): void {
    const changed = new AbortController()
    work.changed = changed
    work.running = persist(secure, siteId, work, changed.signal).finally(() => {
      work.running = undefined
      if (changed.signal.aborted && !stopping.signal.aborted) begin(secure, siteId, work)
    })
  }

  /** Served no more. */
  async function unload(siteId: number): Promise<void> {
    challenges.set(siteId, [])
    const work = works.get(siteId)
    if (!work) return
    work.tls = NOTHING
    work.changed.abort()
    works.delete(siteId)
    await secure?.show(siteId, [])
  }

  return {
    /** Begins with what is new, without waiting for it. */
    want({ id, tls = NOTHING }: DesiredSite): void {
      challenges.set(id, tls.challenges)
      const known = works.get(id)
      if (!secure || (!known && tls === NOTHING)) return
      // Done again all the same: someone else may have changed what was left.
      if (known?.running && Bun.deepEquals(known.tls, tls)) return
      const work: Work = known ?? { tls, changed: new AbortController(), reported: new Set(), running: undefined }
      work.tls = tls
      works.set(id, work)
      if (work.running) work.changed.abort()
      else begin(secure, id, work)
    },

    unload,

    /** With its keys, for good. */
    async remove(siteId: number): Promise<void> {
      const running = works.get(siteId)?.running
      // Not waited for: the port may be opened once for the removal of many.
      void unload(siteId).catch((err) => log.error({ err, site_id: siteId }, 'certificates were not unloaded'))
      await running
      await keys.remove(siteId)
    },

    async stop(): Promise<void> {
      stopping.abort()
      await Promise.allSettled([...works.values()].map(({ running }) => running))
    },
  }
}

const keyOf = ({ state, certificateId }: CertificateReport) => `${state} ${certificateId}`

async function requireServed(prove: ProveCertificate, { cert, names }: LoadedCertificate): Promise<void> {
  const { fingerprint256 } = new X509Certificate(cert)
  for (const name of names) {
    if ((await prove(name)) !== fingerprint256) throw new Error(`${name} is not served with its certificate`)
  }
}
