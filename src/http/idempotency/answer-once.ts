/** Answers a request with an Idempotency-Key once (draft-ietf-httpapi-idempotency-key-header). */

import type { Caller } from '../../core/actor.ts'
import { AppError } from '../../core/errors.ts'
import { boundSitesOf, boundSubscriptionOf } from '../../core/principal.ts'
import { sha256 } from '../../crypto/secret.ts'
import type { Conclude } from '../../db/store.ts'
import { type Envelope, envelope } from '../envelope.ts'
import { forwardedPrefix } from '../prefix.ts'
import type { RequestContext } from '../request-context.ts'
import type { Idempotency } from './kept-answers.ts'

export type Creation<Result, Data> = {
  toData(result: Result): Data
  /**
   * Checked before a replay, for resources that can change owner. Throws the error for a caller who may no longer see
   * the resource.
   */
  requireVisible?(data: Data): Promise<void>
  /** What a replay gets when the response holds a secret that must not be kept: how to go on without it. */
  insteadOfSecret?(result: Result): string
}

/** Everything that a request asks for. */
type Request = { caller: Caller; context: RequestContext; query: object; body?: unknown }

/** Answers with what `work` created; a repeat with the same Idempotency-Key gets the same response. */
export type AnswerOnce = <Result, Data>(
  operation: { message: string; status: 200 | 201 },
  request: Request,
  work: (conclude?: Conclude<Result>) => Promise<Result>,
  creation: Creation<Result, Data>,
) => Promise<string | Envelope<unknown>>

/** The longest key accepted, in characters. */
export const MAX_KEY_LENGTH = 255
/** A string as structured fields write it (RFC 9651 §3.3.3), or the bare word that most clients send. */
const KEY = /^(?:"((?:[ !#-[\]-~]|\\["\\])+)"|([!#-+\--:<-~]+))$/

export function createAnswerOnce({ once }: Idempotency): AnswerOnce {
  return async ({ message, status }, asked, work, { toData, requireVisible, insteadOfSecret }) => {
    const { caller, context } = asked
    context.reply.status = status
    const header = context.request.headers.get('idempotency-key')
    if (header === null) {
      const data = toData(await work())
      if (status === 201) tellLocation(context, data)
      return envelope(data, message)
    }

    const repeatable = {
      userId: caller.userId,
      keyHash: sha256(readKey(header)),
      fingerprint: fingerprintOf(asked),
    }
    const bodyOf = (result: Parameters<typeof toData>[0]) => JSON.stringify(envelope(toData(result), message))
    const outcome = await once(repeatable, work, (result) =>
      insteadOfSecret ? { conflict: insteadOfSecret(result) } : { body: bodyOf(result) },
    )
    const kept = 'result' in outcome ? { body: bodyOf(outcome.result) } : outcome.kept
    if ('conflict' in kept) throw new AppError('conflict', kept.conflict)
    const { data } = JSON.parse(kept.body)
    if (!('result' in outcome)) await requireVisible?.(data)
    if (status === 201) tellLocation(context, data)
    if ('result' in outcome) return kept.body
    context.responseHeaders.set('idempotent-replayed', 'true')
    return kept.body
  }
}

/** Names the new resource (RFC 9110 §15.3.2): below the path that created it, by its id. */
function tellLocation({ request, path, responseHeaders }: RequestContext, data: unknown): void {
  responseHeaders.set('location', `${forwardedPrefix(request)}${path}/${(data as { id: number }).id}`)
}

/** @throws AppError `bad_request` */
function readKey(header: string): string {
  const [, quoted, bare] = KEY.exec(header) ?? []
  const key = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare
  if (key === undefined || key.length > MAX_KEY_LENGTH) {
    throw new AppError(
      'bad_request',
      `Idempotency-Key: must be one string of 1 to ${MAX_KEY_LENGTH} printable characters`,
    )
  }
  return key
}

/**
 * Requests for the same thing share a fingerprint, whichever fresh code they carry. A key bound to a subscription or
 * to sites has its own, so it is shown nothing from outside.
 */
function fingerprintOf({ caller, context, query, body }: Request): string {
  const bound = boundSubscriptionOf(caller)
  // What a key does to itself means something else for each key.
  const self =
    caller.rights.access === 'key' && caller.credential.kind === 'api_key' ? caller.credential.keyId : undefined
  const sites = boundSitesOf(caller)
  const request = [context.request.method, context.path, query, body, bound, self, ...(sites ? [[...sites]] : [])]
  return sha256(JSON.stringify(request, canonical))
}

/** A replacer for `JSON.stringify`: sorts fields, whatever order the client sent, and drops fresh codes. */
function canonical(name: string, value: unknown): unknown {
  if (name === 'totp_code') return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
