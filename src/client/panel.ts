/** Requests to a panel. No redirect is followed and no proxy of the environment is used: the key goes to the panel alone. */
import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { hostOf } from './address.ts'
import { ClientFailure } from './failures.ts'
import { pinnedTo } from './fingerprint.ts'
import type { Target } from './target.ts'

/** A file that is sent as it is. */
export type Upload = { stream: Readable; bytes: number; sha256: string }

export type Sent = { method?: string; headers?: Record<string, string>; upload?: Upload }

/** `next` is the path of the next page of a list; undefined on the last. */
export type Answered<Data> = { data: Data; next: string | undefined }

export type Panel = Awaited<ReturnType<typeof openPanel>>

/** Longer than the panel lets a request wait. */
const TIMEOUT_MS = 60_000
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** @throws ClientFailure `configuration` when the panel shows another certificate than the accepted one, `unreachable` */
export async function openPanel({ url, key, fingerprint }: Target) {
  const isHttps = url.protocol === 'https:'
  const tls = isHttps && fingerprint !== undefined ? await pinnedTo(fingerprint, url) : {}

  function send(path: string, { method = 'GET', headers = {}, upload }: Sent): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const options: RequestOptions = {
        ...tls,
        host: hostOf(url),
        port: url.port || (isHttps ? 443 : 80),
        path: `/api/v1${path}`,
        method,
        // A connection for each request: none is found open that was proven for something else.
        agent: false,
        timeout: TIMEOUT_MS,
        headers: {
          ...headers,
          authorization: `Bearer ${key}`,
          accept: 'application/json',
          'content-length': upload?.bytes ?? 0,
          ...(upload && { 'content-type': 'application/octet-stream', 'x-content-sha256': upload.sha256 }),
        },
      }
      const sending = (isHttps ? requestHttps : requestHttp)(options)
      let isAnswered = false
      const fail = (error: Error) => {
        // It may come before all is sent, such as a 413: then the rest is not wanted, and that it fails is no news.
        if (isAnswered) return
        reject(error instanceof ClientFailure ? error : unreachable(url, error))
        sending.destroy()
      }
      sending.on('response', (response) => {
        isAnswered = true
        resolve(response)
      })
      sending.on('timeout', () => fail(new Error('no answer')))
      sending.on('error', fail)
      if (upload) pipeline(upload.stream, sending).catch(fail)
      else sending.end()
    })
  }

  return {
    url,

    /** @throws ClientFailure `refused` with the panel's words, `unreachable` */
    async ask<Data>(path: string, sent: Sent = {}): Promise<Answered<Data>> {
      const response = await send(path, sent)
      const { statusCode: status = 0, headers } = response
      const envelope = parse(await readText(url, response))
      if (status >= 200 && status < 300 && envelope) {
        return { data: envelope.data as Data, next: nextOf(headers.link) }
      }
      const message = typeof envelope?.message === 'string' ? envelope.message : `it answers ${status}, and is no panel`
      const isTemporary = status === 429 || status === 408 || status >= 500
      throw new ClientFailure(isTemporary ? 'unreachable' : 'refused', `${url.origin}: ${message}`)
    },
  }
}

async function readText(url: URL, response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > MAX_ANSWER_BYTES) throw new Error('its answer does not end')
      chunks.push(chunk)
    }
  } catch (error) {
    throw unreachable(url, error)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parse(text: string): { data: unknown; message: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && 'data' in value && 'message' in value ? value : undefined
  } catch {
    return undefined
  }
}

/** Below `/api/v1`, whatever host the link names. */
function nextOf(link: string | string[] | undefined): string | undefined {
  return /<(?:https?:\/\/[^/>]*)?\/api\/v1(\/[^>]*)>; rel="next"/.exec(String(link))?.[1]
}

function unreachable({ origin }: URL, error: unknown): ClientFailure {
  const { message, code } = error as NodeJS.ErrnoException
  const untrusted = /CERT|SELF_SIGNED|VERIFY|ISSUER/.test(`${code}`)
  const hint = untrusted
    ? "\nThe certificate is not trusted here. Run 'ncp login' to accept a self-signed one by its fingerprint, or set NCP_FINGERPRINT."
    : ''
  return new ClientFailure(untrusted ? 'configuration' : 'unreachable', `${origin} cannot be used: ${message}${hint}`)
}
