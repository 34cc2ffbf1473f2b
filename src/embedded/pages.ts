/** The listener's own pages: small, without scripts, and without anything from another address. */
import { disabledPage, htmlOf, PAGE_STYLE, type SitePage, suspendedPage, waitingPage } from '../node/site-pages.ts'
import type { Reply } from './reply.ts'

const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${Bun.SHA256.hash(PAGE_STYLE, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const HEADERS = {
  'content-type': 'text/html;charset=utf-8',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'referrer-policy': 'no-referrer',
  // A page must disappear as soon as its reason does.
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex',
}

/** When crawlers should come back. */
const RETRY_SUSPENDED_SECONDS = 3600
const RETRY_OVERLOADED_SECONDS = 2

const encoder = new TextEncoder()

/** @param text HTML */
function page(
  status: number,
  title: string,
  text: string,
  headers: Record<string, string> = {},
): Reply & { body: Uint8Array } {
  return { status, headers: { ...HEADERS, ...headers }, body: encoder.encode(htmlOf({ title, text })) }
}

export const badRequest = page(400, 'Bad request', 'The address or the headers of this request are malformed.')
export const notFound = page(404, 'Not found', 'There is no page at this address.')
export const unknownHost = page(404, 'No site here', 'No site with this name is served here.')
export const methodNotAllowed = page(405, 'Method not allowed', 'This site accepts only GET and HEAD requests.', {
  allow: 'GET, HEAD',
})
export const preconditionFailed = page(
  412,
  'Precondition failed',
  'The file is not the version that the request requires.',
)
/** RFC 9110 §15.5.20: a client that has another connection for the name may try that. */
export const misdirected = page(421, 'No site here', 'No site with this name is served here over HTTPS.')
export const internalError = page(
  500,
  'Something went wrong',
  'The page could not be read. The server log has the reason.',
)
export const overloaded = page(503, 'Too busy', 'The server is too busy right now. Please try again.', {
  'retry-after': `${RETRY_OVERLOADED_SECONDS}`,
})
const away = ({ title, text }: SitePage) => page(503, title, text, { 'retry-after': `${RETRY_SUSPENDED_SECONDS}` })
export const suspended = away(suspendedPage)
export const disabled = away(disabledPage)

export function rangeNotSatisfiable(sizeBytes: number): Reply {
  return page(416, 'Range not satisfiable', 'The requested range starts after the end of the file.', {
    'content-range': `bytes */${sizeBytes}`,
  })
}

/** What a new site shows. */
export function placeholder(host: string): Reply {
  const { title, text } = waitingPage(`<b>${Bun.escapeHTML(host)}</b>`)
  return page(200, title, text)
}

/**
 * Redirects to the same address over HTTPS. Clients do not keep it, since a site may lose its certificate.
 *
 * @param host with its port, unless that is 443
 */
export function redirectToHttps(host: string, { pathname, search }: URL): Reply {
  const location = `https://${host}${pathname}${search}`
  return { status: 301, headers: { location, 'cache-control': 'no-cache' }, body: new Uint8Array() }
}
