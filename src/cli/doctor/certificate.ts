/** The certificate: in time, for the right names, and known to clients. */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { connect, rootCertificates } from 'node:tls'
import { isLoopback } from '../../core/loopback.ts'
import { existingCertificate } from '../../tls/certificate.ts'
import { isIssued } from '../../tls/issued.ts'
import type { Certificate } from '../../tls/pem.ts'
import { humanTime } from '../units.ts'
import { type Finding, failed, ok, orOk, type Situation, warning } from './finding.ts'
import { answeringPanel } from './panel.ts'

const DAY_MS = 86_400_000
const SOON_DAYS = 14
const PEM = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs

export async function checkCertificate(situation: Situation): Promise<Finding[]> {
  const { config, clock } = situation
  if (!config.tls) return [plainHttp(config.host)]
  const certificate = existingCertificate(config, clock)
  if (!certificate) {
    const next = isIssued(config)
      ? "a running panel orders it; its log, or 'ncp cert renew', says why it fails"
      : "'ncp serve' makes it"
    return [warning('there is no certificate yet', next)]
  }
  const chain = [...certificate.cert.matchAll(PEM)].map(([pem]) => new X509Certificate(pem))
  const [leaf] = chain
  if (!leaf) return [failed(`${certificate.path} holds no certificate`)]
  const problems = [
    ...dateProblems(certificate, leaf, clock.now()),
    ...nameProblems(leaf, [...config.acmeDomains, ...hostOf(config.publicUrl)]),
    ...chainProblems(chain, config.tlsCert === undefined && !isIssued(config)),
    ...(await servedProblems(situation, certificate)),
  ]
  return orOk(problems, `${certificate.path} is valid until ${humanTime(certificate.expiresAt)}, and fits its key`)
}

function plainHttp(host: string | undefined): Finding {
  if (host !== undefined && isLoopback(host))
    return ok('TLS is off, and only this machine can connect: the proxy in front has the certificate')
  return warning(
    'TLS is off, and other machines can connect: passwords cross the network in the clear',
    'set host = "127.0.0.1" where the proxy is on this machine',
  )
}

function dateProblems({ expiresAt }: Certificate, leaf: X509Certificate, now: number): Finding[] {
  const next = "renew it where it was issued; 'ncp cert renew' for one that the panel makes or orders"
  if (Date.parse(leaf.validFrom) > now) return [failed('it is not valid yet', 'look at the clock of this machine')]
  if (expiresAt <= now) return [failed(`it expired at ${humanTime(expiresAt)}`, next)]
  const days = Math.ceil((expiresAt - now) / DAY_MS)
  return days <= SOON_DAYS ? [warning(`it expires in ${days} days`, next)] : []
}

function nameProblems(leaf: X509Certificate, names: string[]): Finding[] {
  return [...new Set(names)]
    .filter((name) => (isIP(name) === 0 ? leaf.checkHost(name) : leaf.checkIP(name)) === undefined)
    .map((name) => failed(`it does not name ${name}`, 'order one for that name: acme_domains, or tls_cert'))
}

/** @param isOwn made by the panel, which no client knows */
function chainProblems(chain: X509Certificate[], isOwn: boolean): Finding[] {
  if (isOwn)
    return [
      warning(
        'the panel made it itself, so clients have to be told to trust it',
        'acme_domains orders one that clients trust',
      ),
    ]
  const broken = chain.findIndex((certificate, at) => {
    const issuer = chain[at + 1]
    return issuer !== undefined && !(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey))
  })
  if (broken >= 0)
    return [
      failed(
        `certificate ${broken + 2} of its file did not issue the one before it`,
        'put the chain in order: yours first',
      ),
    ]
  const last = chain.at(-1)
  if (!last || isKnown(last)) return []
  return [
    warning(
      `no authority that clients know issued the last certificate of its file (${last.subject.replaceAll('\n', ', ')})`,
      'add the intermediate certificate; a private authority has to be installed on the clients',
    ),
  ]
}

function isKnown(last: X509Certificate): boolean {
  return rootCertificates.some((pem) => {
    const root = new X509Certificate(pem)
    return last.fingerprint256 === root.fingerprint256 || (last.checkIssued(root) && last.verify(root.publicKey))
  })
}

async function servedProblems(situation: Situation, { fingerprint }: Certificate): Promise<Finding[]> {
  const address = await answeringPanel(situation)
  if (!address) return []
  const served = await fingerprintAt(address.host, address.port)
  if (served === undefined || served === fingerprint) return []
  return [
    warning(
      'the running panel serves another one',
      "it reads its files once a minute; 'systemctl reload ncp' does it now",
    ),
  ]
}

/** @returns the SHA-256 fingerprint of what a TLS server shows; undefined where it shows nothing */
export function fingerprintAt(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    // Only looked at: whether to trust it is another question.
    const socket = connect({
      host,
      port,
      servername: /^[\d.:a-f]+$/i.test(host) ? '' : host,
      rejectUnauthorized: false,
    })
    const end = (fingerprint?: string) => {
      socket.destroy()
      resolve(fingerprint)
    }
    socket.setTimeout(5000, () => end())
    socket.once('secureConnect', () => end(socket.getPeerCertificate().fingerprint256))
    socket.once('error', () => end())
  })
}

export function hostOf(url: string | undefined): string[] {
  const host = url === undefined ? undefined : URL.parse(url)?.hostname.replace(/^\[(.*)\]$/, '$1')
  return host === undefined ? [] : [host]
}
