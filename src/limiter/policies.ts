/** The table of rate-limit policies: which requests fall under each, and what it counts by. */
import type { Policy } from './limiter.ts'

export type Policies = {
  /** By client address: requests whose path decides alone. */
  byAddress(method: string, path: string): Policy | undefined
  /** By user: everything else with a valid credential; JWTs and all keys of a user share one bucket. */
  user: Policy
  /** By node: everything that a node sends. */
  node: Policy
  /** By client address: everything else without one. */
  anonymous: Policy
  /** By client address: browsers that ask what a page of another origin may send, one request before each of its own. */
  preflight: Policy
}

/** Requests per minute, as they are named in the configuration. */
export type Limits = Record<
  'limitLogin' | 'limitPasswordReset' | 'limitUser' | 'limitNode' | 'limitAnonymous' | 'limitProbe' | 'limitAsset',
  number
>

const WINDOW_SECONDS = 60
/** Several people behind one address, each with a page that sends all that its user may. */
const PREFLIGHTS = 600

/** What a browser asks for by itself, beside the files of the reference: a page of it has several. */
const ASSETS = new Set(['/', '/favicon.ico', '/.well-known/security.txt', '/.well-known/change-password', '/api/docs'])
/** The files of the page for people, and the paths at which it is served. */
const PAGE =
  /^\/(?:assets|login|forgot|reset-password|activate|confirm-email|change-password|sites|keys|account|admin)(?:\/|$)/

export function createPolicies(limits: Limits): Policies {
  const policy = (name: string, limit: number): Policy => ({ name, limit, windowSeconds: WINDOW_SECONDS })
  const login = policy('login', limits.limitLogin)
  const passwordReset = policy('password-reset', limits.limitPasswordReset)
  const probe = policy('probe', limits.limitProbe)
  const asset = policy('asset', limits.limitAsset)

  return {
    byAddress(method, path) {
      if (path === '/api/v1/auth/login') return method === 'POST' ? login : undefined
      if (path.startsWith('/api/v1/auth/password-reset')) return passwordReset
      if (path.startsWith('/api/v1/')) return undefined
      if (path === '/livez' || path === '/readyz') return probe
      if (path.startsWith('/api/docs/') || ASSETS.has(path) || PAGE.test(path)) return asset
      return undefined
    },
    user: policy('user', limits.limitUser),
    node: policy('node', limits.limitNode),
    anonymous: policy('anonymous', limits.limitAnonymous),
    preflight: policy('preflight', PREFLIGHTS),
  }
}
