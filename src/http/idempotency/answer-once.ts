/** Answers a request that has an Idempotency-Key once (draft-ietf-httpapi-idempotency-key-header). */

import type { Caller } from '../../core/actor.ts'
import { AppError } from '../../core/errors.ts'
import { boundSubscriptionOf } from '../../core/principal.ts'
import { sha256 } from '../../crypto/secret.ts'
import type { Conclude } from '../../db/store.ts'
import { type Envelope, envelope } from '../envelope.ts'
import { forwardedPrefix } from '../prefix.ts'
import type { RequestContext } from '../request-context.ts'
import type { Idempotency } from './kept-answers.ts'

export type Creation<Result, Data> = {
  toData(result: Result): Data
  /**
   * Asked before a repetition is answered, where what was created can go to somebody else. Throws what the caller is told who
   * may not see it now.
   */
  requireVisible?(data: Data): Promise<void>
  /** What a repetition is told where the answer holds a secret that must not be kept: how to get on without it. */
  insteadOfSecret?(result: Result): string
}

/** Everything that a request asks for. */
type Request = { caller: Caller; context: RequestContext; query: object; body?: unknown }

/** Answers with what `work` created; a repetition with the same Idempotency-Key is answered the same again, and creates nothing. */
export type AnswerOnce = <Result, Data>(
  operation: { message: string; status: 200 | 201 },
  request: Request,
  work: (conclude?: Conclude<Result>) => Promise<Result>,
  creation: Creation<Result, Data>,
) => Promise<string | Envelope<unknown>>

/** The longest key that is taken, in characters. */
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

/** Where to find what was created (RFC 9110 §15.3.2): beneath what made it, by its id. */
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
 * Two requests that ask for the same have the same one, whichever fresh code they bring. Those of a key that is bound to a
 * subscription are kept apart, so that it is shown nothing beyond that.
 */
function fingerprintOf({ caller, context, query, body }: Request): string {
  const bound = boundSubscriptionOf(caller)
  // What a key does about itself is about another one with each key.
  const self =
    caller.rights.access === 'key' && caller.credential.kind === 'api_key' ? caller.credential.keyId : undefined
  return sha256(JSON.stringify([context.request.method, context.path, query, body, bound, self], canonical))
}

/** For `JSON.stringify`: fields in one order, whatever order the client sent them in, and no fresh code. */
function canonical(name: string, value: unknown): unknown {
  if (name === 'totp_code') return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
