/** How the names of a site stand that should have a certificate. */
import { reasonForNever } from './never-certified.ts'

/** Of a name; a site may also be `partial`. Grows; a state never changes its meaning. */
export const NAME_STATES = ['none', 'pending', 'unverified', 'ordering', 'active', 'expired', 'failed'] as const

export type NameState = (typeof NAME_STATES)[number]

export const TLS_STATES = [...NAME_STATES, 'partial'] as const

export type StoredName = {
  state: Exclude<NameState, 'none' | 'pending'>
  reason: string | null
  /** Milliseconds since the epoch. */
  retryAt: number | null
}

/** As JSON in the row of a site. A name that is not in it has no certificate, and nothing has failed for it. */
export type StoredTls = {
  names: Record<string, StoredName>
  /** The earliest of the certificates in use, in milliseconds since the epoch. */
  notAfter: number | null
  issuer: string | null
}

export type NameTls = { name: string; state: NameState; reason: string | null; retryAt: number | null }

export type SiteTls = {
  state: (typeof TLS_STATES)[number]
  /** Why no name of any site gets a certificate here; null where they do. */
  reason: string | null
  names: NameTls[]
  notAfter: number | null
  issuer: string | null
}

export const NO_TLS =
  'This server does not serve sites over HTTPS; its operator can switch that on with NCP_SITES_TLS_PORT'
export const NO_AUTHORITY =
  'This server orders no certificates; its operator can switch that on with NCP_ACME_EMAIL, or you can upload one'

type Shown = { domain: string; aliases: string[]; tls: string | null }

/** @param served undefined where sites are not served over HTTPS */
export function tlsOf({ domain, aliases, tls }: Shown, served: { isOrdering: boolean } | undefined): SiteTls {
  // Not a word for each name: lists of sites would be mostly that.
  if (!served) return { state: 'none', reason: NO_TLS, names: [], notAfter: null, issuer: null }
  const { isOrdering } = served
  const stored: StoredTls = tls === null ? { names: {}, notAfter: null, issuer: null } : JSON.parse(tls)
  const names = [domain, ...aliases].map((name): NameTls => {
    const known = stored.names[name]
    if (known) return { name, ...known }
    const never = reasonForNever(name)
    const state = isOrdering && never === undefined ? 'pending' : 'none'
    return { name, state, reason: never ?? null, retryAt: null }
  })
  const { notAfter, issuer } = stored
  return { state: stateOfAll(names), reason: isOrdering ? null : NO_AUTHORITY, names, notAfter, issuer }
}

/** Names that never get a certificate do not count, unless there are no others. */
function stateOfAll(names: NameTls[]): SiteTls['state'] {
  const states = new Set(names.map(({ state }) => state).filter((state) => state !== 'none'))
  if (states.size === 1) return [...states][0] ?? 'none'
  if (states.has('active')) return 'partial'
  const order = ['ordering', 'pending', 'expired', 'failed', 'unverified'] as const
  return order.find((state) => states.has(state)) ?? 'none'
}
