/** The listener's own pages: small, without scripts, and without anything from another address. */
import type { Reply } from './reply.ts'

const STYLE = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:20vh auto 0;padding:0 1.5rem;overflow-wrap:anywhere}h1{font-size:1.5rem}`
const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${Bun.SHA256.hash(STYLE, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

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
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${STYLE}</style>
<h1>${title}</h1>
<p>${text}</p>
</html>
`
  return { status, headers: { ...HEADERS, ...headers }, body: encoder.encode(body) }
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
export const internalError = page(
  500,
  'Something went wrong',
  'The page could not be read. The server log has the reason.',
)
export const overloaded = page(503, 'Too busy', 'The server is too busy right now. Please try again.', {
  'retry-after': `${RETRY_OVERLOADED_SECONDS}`,
})
export const suspended = page(
  503,
  'Site suspended',
  'The hosting provider has suspended this site. If it is yours, ask the provider for the reason.',
  { 'retry-after': `${RETRY_SUSPENDED_SECONDS}` },
)
export const disabled = page(503, 'Site switched off', 'The owner of this site has switched it off for now.', {
  'retry-after': `${RETRY_SUSPENDED_SECONDS}`,
})

export function rangeNotSatisfiable(sizeBytes: number): Reply {
  return page(416, 'Range not satisfiable', 'The requested range starts after the end of the file.', {
    'content-range': `bytes */${sizeBytes}`,
  })
}

/** What a new site shows. */
export function placeholder(host: string): Reply {
  return page(
    200,
    'This site waits for its first deployment',
    `<b>${Bun.escapeHTML(host)}</b> is set up and will show its pages as soon as they are deployed.`,
  )
}
