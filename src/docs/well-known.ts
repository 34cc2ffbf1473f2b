/** What browsers, password managers and security researchers look for at well-known paths (RFC 8615). */
import { Elysia } from 'elysia'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { redirect } from '../http/redirect.ts'
import { type RequestContext, requestContext } from '../http/request-context.ts'

export type WellKnownOptions = {
  clock: Clock
  /** Where to report a vulnerability, as a URI. */
  securityContact: string | undefined
  /** URL of the frontend. */
  publicUrl: string | undefined
}

/** RFC 9116 §2.5.5 wants less than a year. The file is made for each request, and a stale copy must be recognisable. */
const VALID_MS = 30 * 24 * 60 * 60 * 1000

export function wellKnownRoutes({ clock, securityContact, publicUrl }: WellKnownOptions) {
  const hidden = { detail: { hide: true } }

  function sendSecurityText({ responseHeaders }: RequestContext): Response {
    if (securityContact === undefined) throw new AppError('not_found')
    responseHeaders.set('content-type', 'text/plain; charset=utf-8')
    const expires = new Date(clock.now() + VALID_MS).toISOString()
    return new Response(`Contact: ${securityContact}\nExpires: ${expires}\n`)
  }

  /** https://www.w3.org/TR/change-password-url/ */
  function sendToChangePassword(context: RequestContext): Response {
    if (publicUrl === undefined) throw new AppError('not_found')
    return redirect(context, `${publicUrl}/change-password`)
  }

  return new Elysia({ strictPath: true, prefix: '/.well-known' })
    .use(requestContext)
    .get('/security.txt', ({ context }) => sendSecurityText(context), hidden)
    .get('/change-password', ({ context }) => sendToChangePassword(context), hidden)
}
