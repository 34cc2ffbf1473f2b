/** One request to the panel: over its socket or over HTTPS, with an end in time, and a response that is bounded. */
import { fromWire } from '../node/wire.ts'

/** Where the panel is. */
export type PanelAddress =
  /** On this machine. */
  | { socket: string }
  /** On another one. */
  | {
      /** `https://` and nothing after the port. */
      url: string
      /** PEM: the only authority that is believed, or the panel's own certificate; undefined: those of the system. */
      ca: string | undefined
    }

export type PanelRequest = {
  method: 'GET' | 'POST'
  /** Below `/api/v1/node`. */
  path: string
  token: string
  /** Sent as JSON. */
  body?: unknown
  signal: AbortSignal
}

/** What the panel refused, or could not be asked. */
export class PanelError extends Error {
  /** Undefined where there was no response. */
  readonly status: number | undefined
  /** What the panel asks for before another attempt. */
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    { status, retryAfterMs, cause }: { status?: number; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.name = 'PanelError'
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/** More than the longest wait for a change. */
const TIMEOUT_MS = 30_000
/** Ten thousand sites are four. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024
const MAX_RETRY_AFTER_MS = 60_000
/** Of what a panel says of an error. */
const MAX_MESSAGE = 500

export type PanelClient = ReturnType<typeof createPanelClient>

/** @throws Error for an address that is no HTTPS: a token is not sent in the clear */
export function createPanelClient(address: PanelAddress) {
  const isLocal = 'socket' in address
  if (!isLocal && !/^https:\/\/[^/?#@]+$/.test(address.url)) {
    throw new Error('the URL of the panel must be https:// with a host, and a port where it is not 443')
  }
  const origin = isLocal ? 'http://panel.local' : address.url
  const transport = isLocal
    ? { unix: address.socket }
    : // Whatever the environment says: no certificate is taken on trust.
      { tls: { rejectUnauthorized: true, ...(address.ca !== undefined && { ca: address.ca }) } }

  /** @returns the response, whatever its status; its body ends with the signal. @throws PanelError without one */
  async function send({ method, path, token, body, signal }: PanelRequest): Promise<Response> {
    try {
      return await fetch(`${origin}/api/v1/node${path}`, {
        ...transport,
        method,
        signal,
        redirect: 'manual',
        headers: {
          authorization: `Bearer ${token}`,
          'user-agent': 'ncp-agent',
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    } catch (cause) {
      throw new PanelError('the panel does not answer', { cause })
    }
  }

  return {
    /** @returns the `data` of a success, in this program's names. @throws PanelError */
    async ask(request: PanelRequest): Promise<unknown> {
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(TIMEOUT_MS)])
      const response = await send({ ...request, signal })
      const envelope = await readJson(response)
      if (response.status !== 200) throw refusalOf(response, envelope)
      return fromWire(envelope.data)
    },

    /** @returns the body of a success as it comes; undefined for 404. @throws PanelError */
    async download(request: PanelRequest): Promise<ReadableStream<Uint8Array> | undefined> {
      const response = await send(request)
      if (response.status === 200 && response.body) return response.body
      const envelope = await readJson(response)
      if (response.status === 404) return undefined
      throw refusalOf(response, envelope)
    },
  }
}

type Envelope = { data?: unknown; message?: unknown }

/** @throws PanelError for what is no JSON object, or too long */
async function readJson(response: Response): Promise<Envelope> {
  const { status } = response
  try {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length
      if (bytes > MAX_RESPONSE_BYTES) throw new Error(`the response is longer than ${MAX_RESPONSE_BYTES} bytes`)
      chunks.push(chunk)
    }
    const read: unknown = JSON.parse(Buffer.concat(chunks).toString())
    if (typeof read === 'object' && read !== null) return read
    throw new Error('the response is no object')
  } catch (cause) {
    throw new PanelError(`the panel answers ${status} with what cannot be read`, { status, cause })
  }
}

function refusalOf({ status, headers }: Response, { message }: Envelope): PanelError {
  const words = typeof message === 'string' ? message.slice(0, MAX_MESSAGE) : ''
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const retryAfterMs = seconds > 0 ? Math.min(1000 * seconds, MAX_RETRY_AFTER_MS) : undefined
  return new PanelError(`the panel answers ${status}: ${words}`, {
    status,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}
