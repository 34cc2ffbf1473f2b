/** What the agent believes of the certificates that the panel wants: each field becomes a file, or a part of its path. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { DesiredSite, DesiredTls } from '../../node/protocol.ts'

const MAX_ID = 2_000_000_000
const MAX_ENTRIES = 1000
const MAX_PEM = 65_536
/** RFC 8555 §8.1: base64url, and no name that begins with a dot. */
const TOKEN = /^[\w-]{1,256}$/
const ANSWER = /^[\w.-]{1,512}$/
const CHAIN = /^(?:-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n\r]+-----END CERTIFICATE-----\s*)+$/
const KEY = /^-----BEGIN PRIVATE KEY-----\n[A-Za-z0-9+/=\n]+-----END PRIVATE KEY-----\n?$/

const isId = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= MAX_ID
const isList = (value: unknown, is: (one: never) => boolean) =>
  Array.isArray(value) && value.length <= MAX_ENTRIES && value.every((one) => is((one ?? {}) as never))
const matches = (value: unknown, pattern: RegExp) =>
  typeof value === 'string' && value.length <= MAX_PEM && pattern.test(value)

/** @param site its names are checked already @returns the name of a field that no panel of ours sends so; undefined when all are right */
export function wrongTlsField(tls: DesiredTls, { names }: Pick<DesiredSite, 'names'>): string | undefined {
  const isOwn = (name: unknown) => names.includes(name as string)
  const rules: Record<string, boolean> = {
    challenges: isList(
      tls.challenges,
      ({ token, answer }: DesiredTls['challenges'][number]) => matches(token, TOKEN) && matches(answer, ANSWER),
    ),
    // Of names that the site had a moment ago too: they only get into a request, which the panel reads.
    requests: isList(
      tls.requests,
      ({ id, names: asked }: DesiredTls['requests'][number]) => isId(id) && isList(asked, isNameOf),
    ),
    certificates: isList(
      tls.certificates,
      ({ id, names: served, chain, key }: DesiredTls['certificates'][number]) =>
        isId(id) &&
        isList(served, isOwn) &&
        matches(chain, CHAIN) &&
        (key === null || matches(key, KEY)) &&
        isReadable(chain, key),
    ),
  }
  return Object.keys(rules).find((field) => !rules[field])
}

const isNameOf = (name: unknown) => matches(name, /^[a-z0-9][a-z0-9.-]{0,252}$/)

function isReadable(chain: string, key: string | null): boolean {
  try {
    const certificate = new X509Certificate(chain)
    return key === null || certificate.checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}
