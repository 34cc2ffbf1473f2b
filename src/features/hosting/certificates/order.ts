/** Orders a certificate for names of a site that lead to its node, which makes the key. */
import { and, eq, isNull } from 'drizzle-orm'
import { panelItself } from '../../../core/actor.ts'
import type { Awaitable } from '../../../core/awaitable.ts'
import type { Clock } from '../../../core/clock.ts'
import type { CommitSignal } from '../../../db/commit-signal.ts'
import { one } from '../../../db/statements.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { certificates } from '../../../db/tables.ts'
import type { Log } from '../../../log/log.ts'
import { desired } from '../../../node/desired-states.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordEvent } from '../events/events.ts'
import { refreshTls } from '../tls/summary.ts'
import { type Chain, readChain } from './chain.ts'
import { type Challenges, NODE_PATIENCE_MS, SilentNodeError } from './challenges.ts'
import { forgetName, type NameRow, readNameStates, writeBack, writeFailure } from './name-states.ts'
import { type CheckedRequest, checkRequest } from './request.ts'
import type { CertifiedSite } from './site.ts'

/** See `tls/acme/site-order.ts`. */
export type OrderFromAuthority = (
  names: readonly string[],
  csr: Uint8Array,
  publish: (token: string, answer: string) => Promise<() => Awaitable<void>>,
  signal: AbortSignal,
) => Promise<
  | { ok: true; chain: string }
  | { ok: false; reason: string; refused: ReadonlyMap<string, string>; retryAfterMs: number | undefined }
>

export type OrderOptions = {
  store: ReadStore
  writeAs: WriteAs
  commits: CommitSignal
  clock: Clock
  log: Log
  recordEvent: RecordEvent
  challenges: Challenges
  authority: OrderFromAuthority
}

type Begun = { id: number; before: Map<string, NameRow> }
type Refusal = { reason: string; refused?: ReadonlyMap<string, string>; retryAfterMs?: number | undefined }

export type Order = ReturnType<typeof createOrder>

const MAX_REASON = 500

export function createOrder(options: OrderOptions) {
  const { store, writeAs, commits, clock, log, recordEvent, challenges, authority } = options

  /** Counts as a failure until it has succeeded: a panel that dies in the middle again and again must not order each time. */
  function begin(site: CertifiedSite, names: readonly string[]): Promise<Begun> {
    return writeAs(panelItself, async (tx) => {
      const now = clock.now()
      const before = await readNameStates(tx, names)
      for (const name of names) {
        await writeFailure(tx, { name, state: 'ordering', reason: null, before: before.get(name), now })
      }
      const requested = { siteId: site.id, source: 'acme' as const, names: JSON.stringify(names), isServed: false }
      const { id } = await one(
        tx
          .insert(certificates)
          .values({ ...requested, createdAt: now })
          .returning({ id: certificates.id }),
      )
      await announce(tx, site)
      return { id, before }
    })
  }

  async function announce(tx: Queries, { id, subscriptionId }: CertifiedSite): Promise<void> {
    await refreshTls(tx, id, clock.now())
    await desired.announce(tx, subscriptionId)
  }

  /** @throws SilentNodeError */
  async function requestOf(id: number, signal: AbortSignal): Promise<string> {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(NODE_PATIENCE_MS)])
    for (;;) {
      const change = commits.next(patience)
      const [row] = await store.read.select().from(certificates).where(eq(certificates.id, id))
      if (row?.csr) return row.csr
      if (!row || patience.aborted) throw new SilentNodeError('The server did not request its certificate in time')
      await change
    }
  }

  /** Nothing was ordered: nothing has failed. */
  function takeBack(site: CertifiedSite, { id, before }: Begun, names: readonly string[]): Promise<void> {
    return writeAs(panelItself, async (tx) => {
      await tx.delete(certificates).where(eq(certificates.id, id))
      for (const name of names) await writeBack(tx, name, before.get(name))
      await announce(tx, site)
    })
  }

  function keep(site: CertifiedSite, { id }: Begun, names: readonly string[], chain: Chain): Promise<void> {
    const { pem, fingerprint, issuer, notBefore, notAfter } = chain
    return writeAs(panelItself, async (tx) => {
      await tx
        .update(certificates)
        .set({ chain: pem, fingerprint, issuer, notBefore, notAfter })
        .where(and(eq(certificates.id, id), isNull(certificates.chain)))
      for (const name of names) await forgetName(tx, name)
      await announce(tx, site)
    })
  }

  function fail(site: CertifiedSite, { id, before }: Begun, names: readonly string[], refusal: Refusal): Promise<void> {
    const { reason, retryAfterMs: atLeastMs } = refusal
    const refused = new Map([...(refusal.refused ?? [])].filter(([name]) => names.includes(name)))
    return writeAs(panelItself, async (tx) => {
      const now = clock.now()
      await tx.delete(certificates).where(eq(certificates.id, id))
      for (const name of names) {
        const known = before.get(name)
        const own = refused.get(name)
        // The others are ordered again, without those that were refused.
        if (refused.size > 0 && own === undefined) {
          await writeBack(tx, name, known)
          continue
        }
        const words = (own ?? reason).slice(0, MAX_REASON)
        await writeFailure(tx, { name, state: 'failed', reason: words, before: known, now, atLeastMs })
        if (known?.reason === words) continue
        await recordEvent(tx, { site, kind: 'certificate.failed', details: { name, reason: words }, at: now })
      }
      await announce(tx, site)
    })
  }

  /** Tries once; what has become of it is in the database then. */
  return async function order(site: CertifiedSite, names: readonly string[], signal: AbortSignal): Promise<void> {
    const begun = await begin(site, names)
    let request: CheckedRequest
    try {
      request = await checkRequest(await requestOf(begun.id, signal), names)
    } catch (error) {
      await takeBack(site, begun, names)
      throw error
    }
    const publish = (token: string, answer: string) => challenges.publish(site, token, answer, signal)
    const outcome = await authority(names, request.der, publish, signal)
    if (!outcome.ok) {
      const reason = signal.aborted ? INTERRUPTED : outcome.reason
      log.warn({ site_id: site.id, names: [...names], reason }, 'a certificate for a site was not issued')
      return fail(site, begun, names, { ...outcome, reason })
    }
    try {
      await keep(site, begun, names, requireIssued(outcome.chain, names, request))
      log.info({ site_id: site.id, names: [...names] }, 'a certificate for a site was issued')
    } catch (error) {
      log.error({ err: error, site_id: site.id }, 'a certificate that was issued for a site cannot be used')
      await fail(site, begun, names, { reason: 'The certificate authority issued a certificate that cannot be used' })
    }
  }
}

export const INTERRUPTED = 'The server was stopped while the certificate was ordered; it tries again'

/** @throws Error where an authority issued something else than was asked for */
function requireIssued(text: string, names: readonly string[], { publicKey }: CheckedRequest): Chain {
  const chain = readChain(text)
  const key = chain.leaf.publicKey.export({ type: 'spki', format: 'der' })
  if (!Buffer.from(publicKey).equals(key)) throw new Error('it is for another key')
  const missing = names.find((name) => !chain.names.includes(name))
  if (missing !== undefined) throw new Error(`it lacks ${missing}`)
  return chain
}
