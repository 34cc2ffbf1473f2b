/** Certificates by their SHA-256 fingerprint, for a panel that no authority knows. */
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { hostOf } from './address.ts'
import { ClientFailure } from './failures.ts'

export type SeenCertificate = {
  /** As openssl and browsers write it: `AB:CD:…`. */
  fingerprint: string
  /** Empty where the authorities of this machine vouch for it. */
  problem: string
  pem: string
}

const TIMEOUT_MS = 15_000

/** @throws ClientFailure `configuration` for what is no SHA-256 fingerprint */
export function readFingerprint(text: string, label: string): string {
  const hex = text
    .trim()
    .replace(/^SHA-?256[: =]/i, '')
    .replaceAll(':', '')
    .toUpperCase()
  if (/^[0-9A-F]{64}$/.test(hex)) return hex.match(/../g)?.join(':') ?? hex
  throw new ClientFailure('configuration', `${label}: must be a SHA-256 fingerprint, 64 hexadecimal digits`)
}

/** Looks at the certificate of a panel. Nothing is sent on this connection. @throws ClientFailure `unreachable` */
export function seeCertificate(url: URL): Promise<SeenCertificate> {
  return new Promise((resolve, reject) => {
    const host = hostOf(url)
    const fail = (why: string) => {
      socket.destroy()
      reject(new ClientFailure('unreachable', `${url.origin} cannot be reached: ${why}`))
    }
    const socket = connect(
      {
        host,
        port: Number(url.port || 443),
        ...(isIP(host) === 0 && { servername: host }),
        ALPNProtocols: ['http/1.1'],
        // Only looked at here; whether it is trusted is decided before the connection that carries the key.
        rejectUnauthorized: false,
      },
      () => {
        const { raw, fingerprint256 } = socket.getPeerCertificate()
        const problem = socket.authorized ? '' : `${socket.authorizationError}`
        socket.destroy()
        const base64 = raw.toString('base64').replaceAll(/.{64}/g, '$&\n')
        const pem = `-----BEGIN CERTIFICATE-----\n${base64.trimEnd()}\n-----END CERTIFICATE-----\n`
        resolve({ fingerprint: fingerprint256, problem, pem })
      },
    )
    socket.setTimeout(TIMEOUT_MS, () => fail('no answer'))
    socket.on('error', (error) => fail(error.message))
  })
}

/**
 * TLS options that admit one certificate alone. The handshake proves that the peer has its key, before anything is sent.
 *
 * @throws ClientFailure `configuration` when the panel shows another certificate, `unreachable`
 */
export async function pinnedTo(fingerprint: string, url: URL) {
  const seen = await seeCertificate(url)
  if (seen.fingerprint !== fingerprint) throw otherCertificate(url, seen.fingerprint, fingerprint)
  return {
    ca: seen.pem,
    // It may be from an authority that this machine does not know.
    allowPartialTrustChain: true,
    // In place of its names: a fingerprint is exact. A certificate that the pinned one has signed is refused here.
    checkServerIdentity: (_: string, peer: { fingerprint256: string }) =>
      peer.fingerprint256 === fingerprint ? undefined : otherCertificate(url, peer.fingerprint256, fingerprint),
  }
}

function otherCertificate({ origin }: URL, seen: string, expected: string): ClientFailure {
  return new ClientFailure(
    'configuration',
    `${origin} shows another certificate than the one that was accepted, and nothing was sent to it.\nit shows: ${seen}\naccepted: ${expected}\nIf the panel has a new certificate, run 'ncp login' again, or change NCP_FINGERPRINT.`,
  )
}
