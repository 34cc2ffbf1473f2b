/** An ACME client (RFC 8555), as far as HTTP-01 certificates need it. */
import { type CryptoKey, calculateJwkThumbprint, exportJWK, FlattenedSign } from 'jose'
import type { Awaitable } from '../../core/awaitable.ts'
import { pause } from '../../core/pause.ts'
import { AcmeError, kindOf, notProved, type Problem, retryAfterOf, wordsOf } from './problem.ts'

export type AcmeAccount = {
  /** ECDSA P-256. */
  privateKey: CryptoKey
  /** Where the authority writes to when a certificate is about to expire. */
  email: string | undefined
}

/** Makes the answer to a challenge readable under `/.well-known/acme-challenge/`. @returns what takes it away again */
export type PublishChallenge = (token: string, answer: string) => Promise<() => Awaitable<void>>

export type AcmeOptions = {
  /** Of the authority's directory. */
  directoryUrl: string
  account: AcmeAccount
  publish: PublishChallenge
  /** Aborted to give an order up. */
  signal?: AbortSignal
  /** A certificate in PEM that the authority's own may lead to, besides the known ones. */
  ca?: string | undefined
}

type Directory = { newNonce: string; newAccount: string; newOrder: string }
type Order = { status: string; authorizations: string[]; finalize: string; certificate?: string; error?: Problem }
type Authorization = { status: string; identifier: { value: string }; challenges: Challenge[] }
type Challenge = { type: string; url: string; token: string; error?: Problem }

const REQUEST_TIMEOUT_MS = 30_000
/** An authority may refuse a nonce at any time, and gives another one with its refusal (§6.5). */
const NONCE_ATTEMPTS = 10
const POLL_MS = 1000
const LONGEST_POLL_MS = 30_000
/** How often the state of an order is asked for before it is given up. */
const POLLS = 60
/** Of base64url alone (§8.3), so that it can be a file's name. */
const TOKEN = /^[\w-]{1,256}$/

/**
 * Orders a certificate: proves each name, has the request signed, fetches the chain.
 *
 * @param csr a certificate request for `names`, DER
 * @returns the certificate and the authorities between it and a known one, PEM
 * @throws AcmeError in the authority's words; Error when it cannot be reached, or the order was given up
 */
export async function orderCertificate(
  { directoryUrl, account, publish, signal = new AbortController().signal, ca }: AcmeOptions,
  names: readonly string[],
  csr: Uint8Array,
): Promise<string> {
  const { kty, crv, x, y } = await exportJWK(account.privateKey)
  const publicKey = { kty: `${kty}`, crv: `${crv}`, x: `${x}`, y: `${y}` }
  const thumbprint = await calculateJwkThumbprint(publicKey)
  const directory = (await (await request(directoryUrl)).json()) as Directory
  let nonce: string | undefined
  let accountUrl: string | undefined

  /** Sends a signed request; without a payload it only reads (§6.3). */
  async function post(url: string, payload?: object): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      nonce ??= (await request(directory.newNonce, { method: 'HEAD' })).headers.get('replay-nonce') ?? ''
      const signer = accountUrl === undefined ? { jwk: publicKey } : { kid: accountUrl }
      const signed = await new FlattenedSign(new TextEncoder().encode(payload ? JSON.stringify(payload) : ''))
        .setProtectedHeader({ alg: 'ES256', nonce, url, ...signer })
        .sign(account.privateKey)
      const headers = { 'content-type': 'application/jose+json' }
      const response = await request(url, { method: 'POST', headers, body: JSON.stringify(signed) })
      nonce = response.headers.get('replay-nonce') ?? undefined
      if (response.ok) return response
      const problem = await problemOf(response)
      if (kindOf(problem) === 'badNonce' && attempt < NONCE_ATTEMPTS) continue
      throw new AcmeError(problem, undefined, retryAfterOf(response, Date.parse(response.headers.get('date') ?? '')))
    }
  }

  /** Asks again until the state is none of those on the way. */
  async function settled<State extends { status: string }>(url: string): Promise<State> {
    for (let poll = 0; poll < POLLS; poll++) {
      const response = await post(url)
      const state = (await response.json()) as State
      if (state.status !== 'pending' && state.status !== 'processing') return state
      await pause(pauseOf(response), signal)
    }
    throw new Error('the authority did not finish in time')
  }

  function request(url: string, init: RequestInit = {}): Promise<Response> {
    const until = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)])
    return fetch(url, { ...init, redirect: 'error', signal: until, ...(ca !== undefined && { tls: { ca } }) })
  }

  /** @returns why the authority does not believe it; undefined if it does */
  async function prove(authorizationUrl: string): Promise<{ name: string; reason: string } | undefined> {
    const { status, challenges, identifier } = (await (await post(authorizationUrl)).json()) as Authorization
    // Proved recently, and remembered.
    if (status === 'valid') return undefined
    const name = identifier.value
    const challenge = challenges.find(({ type }) => type === 'http-01')
    if (!challenge || !TOKEN.test(challenge.token))
      throw new Error(`the authority offers no HTTP-01 challenge for ${name}`)
    const retract = await publish(challenge.token, `${challenge.token}.${thumbprint}`)
    try {
      await post(challenge.url, {})
      const outcome = await settled<Authorization>(authorizationUrl)
      if (outcome.status === 'valid') return undefined
      return { name, reason: wordsOf(outcome.challenges.find(({ error }) => error)?.error) }
    } finally {
      await retract()
    }
  }

  /** All names, so that one attempt tells of all that are refused. */
  async function proveAll(authorizationUrls: string[]): Promise<void> {
    const refused = new Map<string, string>()
    for (const url of authorizationUrls) {
      const failed = await prove(url)
      if (failed) refused.set(failed.name, failed.reason)
    }
    if (refused.size > 0) throw notProved(refused)
  }

  // The configuration of the names is the consent to the authority's terms.
  const contact = account.email === undefined ? {} : { contact: [`mailto:${account.email}`] }
  const registered = await post(directory.newAccount, { termsOfServiceAgreed: true, ...contact })
  accountUrl = locationOf(registered)

  const identifiers = names.map((value) => ({ type: 'dns', value }))
  const placed = await post(directory.newOrder, { identifiers })
  const orderUrl = locationOf(placed)
  const order = (await placed.json()) as Order
  await proveAll(order.authorizations)
  await post(order.finalize, { csr: Buffer.from(csr).toString('base64url') })
  const { status, certificate, error } = await settled<Order>(orderUrl)
  if (status !== 'valid' || certificate === undefined) throw new AcmeError(error ?? {})
  return (await post(certificate)).text()
}

function locationOf(response: Response): string {
  const location = response.headers.get('location')
  if (location === null) throw new Error('the authority sent no Location header')
  return location
}

async function problemOf(response: Response): Promise<Problem> {
  const unknown = { detail: `it answered ${response.status}` }
  return (await response.json().catch(() => unknown)) as Problem
}

/** Seconds in Retry-After, within bounds. */
function pauseOf(response: Response): number {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return seconds > 0 ? Math.min(seconds * 1000, LONGEST_POLL_MS) : POLL_MS
}
