/** Asks the listener itself which certificate it shows for a name: what was loaded is not yet what is served. */
import { connect } from 'node:tls'

const TIMEOUT_MS = 5000

/** @returns SHA-256 of the certificate, in upper-case hex pairs */
export type ProveCertificate = (name: string) => Promise<string>

/** @param address of the listener, on this machine */
export function createProveCertificate(address: { host: string; port: number }): ProveCertificate {
  return (servername) =>
    new Promise((resolve, reject) => {
      // Whether a client trusts it is not the question here: an uploaded one may be of a private authority.
      const socket = connect({ ...address, servername, rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().fingerprint256)
        socket.destroy()
      })
      socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no handshake in time')))
      socket.on('error', reject)
    })
}
