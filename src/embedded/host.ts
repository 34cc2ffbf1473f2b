/** Which domain a request is for. */
import { requireHost } from '../http/host.ts'

const MAX_LENGTH = 253
/** RFC 1123 §2.1. Underscores, addresses in brackets and empty labels are never the name of a site. */
const DOMAIN = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/

/**
 * Only the Host header counts. Bun discards the host of a request in absolute form (RFC 9112 §3.2.2), so the two can never be
 * confused here.
 *
 * @returns in lower case, without port and one trailing dot; undefined for a host that cannot be a domain name
 * @throws AppError `bad_request` for a Host that is missing, sent twice or malformed
 */
export function domainOf(request: Request): string | undefined {
  requireHost(request)
  const host = (request.headers.get('host') ?? '').toLowerCase()
  const domain = host.replace(/:\d*$/, '').replace(/\.$/, '')
  return domain.length <= MAX_LENGTH && DOMAIN.test(domain) ? domain : undefined
}
