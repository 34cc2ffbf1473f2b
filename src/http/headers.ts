/** The headers that every response starts with; routes outside the API overwrite some. */
import type { Policy, Verdict } from '../limiter/limiter.ts'

export const baseHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

/** Seconds in a year: RFC 6797 §6.1.1, and what preload lists and audits ask for. */
const HSTS_MAX_AGE = 31_536_000

/** Makes the headers of a response from what the gate knows before routing. */
export type NewResponseHeaders = (requestId: string, verdict: Verdict) => Headers

/**
 * What every response starts with, whatever becomes of the request: the contract's three rate-limit headers and the
 * standard's two (draft-ietf-httpapi-ratelimit-headers-11). The draft treats vendor-prefixed parameters as comments;
 * ours are for parsers that still look for the names of its seventh version.
 *
 * @param always headers to add to every response
 */
export function createResponseHeaders(always: Readonly<Record<string, string>>): NewResponseHeaders {
  /** By policy, without the few headers that differ between responses. */
  const templates = new WeakMap<Policy, Headers>()

  function templateOf({ name, limit, windowSeconds }: Policy): Headers {
    return new Headers({
      ...baseHeaders,
      ...always,
      'x-ratelimit-limit': `${limit}`,
      'ratelimit-policy': `"${name}";q=${limit};w=${windowSeconds}`,
    })
  }

  return (requestId, { policy, remaining, resetAt, retryAfter }) => {
    let template = templates.get(policy)
    if (!template) {
      template = templateOf(policy)
      templates.set(policy, template)
    }
    // Copied rather than rebuilt: a fifth of the cost, on every request.
    const headers = new Headers(template)
    const { name, limit } = policy
    headers.set('x-request-id', requestId)
    headers.set('x-ratelimit-remaining', `${remaining}`)
    headers.set('x-ratelimit-reset', `${resetAt}`)
    headers.set(
      'ratelimit',
      `"${name}";r=${remaining};t=${retryAfter};ncp-limit=${limit};ncp-remaining=${remaining};ncp-reset=${retryAfter}`,
    )
    return headers
  }
}

/**
 * Strict-Transport-Security, only when the panel itself speaks TLS: over HTTP it means nothing (RFC 6797 §7.2), and a
 * proxy that terminates TLS sets its own.
 */
export function strictTransport({ tls, hsts }: { tls: boolean; hsts: 'off' | 'host' | 'subdomains' }) {
  if (!tls || hsts === 'off') return {}
  const scope = hsts === 'subdomains' ? '; includeSubDomains' : ''
  return { 'strict-transport-security': `max-age=${HSTS_MAX_AGE}${scope}` }
}
