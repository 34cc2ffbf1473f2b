/** Opens the port: TLS, connection limits, and a last resort in case even the error handler fails. */
import { catalogue } from '../core/errors.ts'
import { errorEnvelope } from './envelope.ts'
import { baseHeaders } from './headers.ts'

/** PEM. */
export type Tls = { cert: string; key: string }

/** By the name that a client asks for (RFC 6066 §3). The first serves those who ask for another name, or for none. */
export type TlsByName = readonly [Tls, ...(Tls & { serverName: string })[]]

export type ListenOptions = {
  /** Undefined listens on every address, IPv6 and IPv4. */
  host: string | undefined
  port: number
  /** Listens on a socket in the file system instead, at this path. */
  unix?: string
  /** Undefined serves plain HTTP, behind a proxy. */
  tls: Tls | TlsByName | undefined
  /** Whether to share a port on which this process already listens: see `system/shared-port.ts`. */
  reusePort?: boolean
  /** Answers when the handler itself fails; by default with the envelope of an internal error. */
  error?: () => Response
}

/** Forward secrecy and AEAD only (ASVS V12.1.2); Bun would also offer CBC suites. TLS 1.3 has its own list. */
const CIPHERS = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')
const TLS_1_2 = 0x0303

/**
 * Bun refuses longer bodies itself, without our envelope and with a reset. So there is no limit here: Bun reads only
 * what it is asked for, and `readJson` and uploads have caps of their own.
 */
const MAX_REQUEST_BODY_BYTES = Number.MAX_SAFE_INTEGER
/** Seconds without a byte until a connection is closed, so a slow sender cannot hold it open (0 would mean never). */
export const IDLE_TIMEOUT_SECONDS = 15

/** @throws Error when the port is taken or the certificate is unusable */
export function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  { host, port, unix, tls, reusePort = false, error = lastResort }: ListenOptions,
): Bun.Server<undefined> {
  const options = {
    port,
    fetch,
    development: false,
    // With `development: false`, Bun turns this on, and two panels would silently share the port.
    reusePort,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    maxRequestBodySize: MAX_REQUEST_BODY_BYTES,
    error,
    ...(tls && { tls: [tls].flat().map((one) => ({ ...one, ciphers: CIPHERS, minVersion: TLS_1_2 })) }),
  }
  // Without a port, and without an idle time, which such a socket does not have.
  if (unix !== undefined)
    return Bun.serve({ unix, fetch, development: false, maxRequestBodySize: MAX_REQUEST_BODY_BYTES, error })
  if (host !== undefined) return Bun.serve({ ...options, hostname: host })
  try {
    return Bun.serve({ ...options, hostname: '::' })
  } catch (failure) {
    if ((failure as { code?: unknown }).code === 'EADDRINUSE') throw failure
    // A kernel without IPv6.
    return Bun.serve({ ...options, hostname: '0.0.0.0' })
  }
}

function lastResort(): Response {
  const { status } = catalogue.internal
  return new Response(JSON.stringify(errorEnvelope('internal')), { status, headers: baseHeaders })
}
