/** Which names of a site need a certificate now, and when to look again. */
import { chooseCertificate } from '../tls/choice.ts'
import { reasonForNever } from '../tls/never-certified.ts'
import type { IssuedCertificate } from '../tls/rows.ts'
import type { NameRow } from './name-states.ts'

/** The share of its life that is left when a certificate is renewed; it leaves time for an authority that is away. */
const RENEWAL_SHARE = 1 / 3
/** An uploaded certificate is given a successor only shortly before its end: its customer may upload the next one. */
const UPLOADED_LEFT_MS = 3 * 24 * 60 * 60 * 1000
/** Let's Encrypt's limit, and that of others. */
export const MAX_NAMES = 100

/** Later than any time. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** Where the clock is wrong, a new certificate seems to be old: even then at most five a week are ordered for the same names. */
const LEAST_AGE_MS = 2 * 24 * 60 * 60 * 1000

/** Milliseconds since the epoch. */
export function renewalAt({ source, notBefore, notAfter, createdAt }: IssuedCertificate): number {
  if (source === 'uploaded') return notAfter - UPLOADED_LEFT_MS
  return Math.max(notAfter - (notAfter - (notBefore ?? 0)) * RENEWAL_SHARE, createdAt + LEAST_AGE_MS)
}

export type Needs = {
  /** To be tried now: at most as many as one certificate holds. */
  ready: string[]
  /** When something else is to be done, if nothing changes. */
  nextAt: number
}

/** @param failed by name */
export function needsOf(
  names: readonly string[],
  issued: readonly IssuedCertificate[],
  failed: ReadonlyMap<string, NameRow>,
  now: number,
): Needs {
  const ready: string[] = []
  // What is shown changes when a certificate expires.
  const times = issued.map(({ notAfter }) => notAfter)
  for (const name of names) {
    if (reasonForNever(name) !== undefined) continue
    const current = chooseCertificate(issued, name, now)
    const dueAt = Math.max(current ? renewalAt(current) : 0, failed.get(name)?.retryAt ?? 0)
    if (dueAt <= now) ready.push(name)
    else times.push(dueAt)
  }
  return { ready: ready.slice(0, MAX_NAMES), nextAt: Math.min(NEVER, ...times.filter((time) => time > now)) }
}
