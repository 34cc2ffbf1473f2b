/** The certificate: its dates, its names, its chain, and whether the running panel serves it. */
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect, rootCertificates } from 'node:tls'
import type { Config } from '../../config/schema.ts'
import { isLoopback } from '../../core/loopback.ts'
import { certificatePath, existingCertificate } from '../../tls/certificate.ts'
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
  if (!certificate) return [absent(config)]
  const chain = [...certificate.cert.matchAll(PEM)].map(([pem]) => new X509Certificate(pem))
  const [leaf] = chain
  if (!leaf) return [failed(`${certificate.path} contains no certificate`, 'replace the file')]
  const problems = [
    ...dateProblems(certificate, leaf, clock.now()),
    ...nameProblems(leaf, [...config.acmeDomains, ...hostOf(config.publicUrl)]),
    ...chainProblems(chain, config.tlsCert === undefined && !isIssued(config)),
    ...(await servedProblems(situation, certificate)),
  ]
  return orOk(problems, `${certificate.path} is valid until ${humanTime(certificate.expiresAt)} and matches its key`)
}

/** Where none can be used: none was made yet, or the file of the panel's own holds none any longer. */
function absent(config: Config): Finding {
  const path = certificatePath(config)
  if (isIssued(config)) {
    const next = "a running panel orders one; its log, or 'ncp cert renew', says why that fails"
    if (!existsSync(path)) return warning('there is no certificate yet', next)
    return failed(`${path} is damaged, has expired, or is for other names than acme_domains`, next)
  }
  if (!existsSync(path)) return warning('there is no certificate yet', "'ncp serve' creates one")
  return failed(
    `${path} is damaged, or its key is missing or another one`,
    "a running panel replaces it within a minute; 'ncp cert renew' does so now",
  )
}

function plainHttp(host: string | undefined): Finding {
  if (host !== undefined && isLoopback(host))
    return ok('TLS is off, and only this machine can connect; the certificate is at the proxy in front')
  return warning(
    'TLS is off, and other machines can connect: passwords cross the network unencrypted',
    'set host = "127.0.0.1" if the proxy is on this machine',
  )
}

function dateProblems({ expiresAt }: Certificate, leaf: X509Certificate, now: number): Finding[] {
  const next = "renew it where it was issued, or with 'ncp cert renew' if the panel made or ordered it"
  if (Date.parse(leaf.validFrom) > now) return [failed('it is not valid yet', 'check the clock of this machine')]
  if (expiresAt <= now) return [failed(`it expired at ${humanTime(expiresAt)}`, next)]
  const days = Math.ceil((expiresAt - now) / DAY_MS)
  return days <= SOON_DAYS ? [warning(`it expires in ${days} days`, next)] : []
}

function nameProblems(leaf: X509Certificate, names: string[]): Finding[] {
  return [...new Set(names)]
    .filter((name) => (isIP(name) === 0 ? leaf.checkHost(name) : leaf.checkIP(name)) === undefined)
    .map((name) => failed(`it is not valid for ${name}`, 'get one for that name: set acme_domains or tls_cert'))
}

/** @param isOwn self-signed by the panel */
function chainProblems(chain: X509Certificate[], isOwn: boolean): Finding[] {
  if (isOwn)
    return [
      warning(
        'the panel signed it itself, so clients do not trust it',
        'set acme_domains to get one that clients trust',
      ),
    ]
  const broken = chain.findIndex((certificate, at) => {
    const issuer = chain[at + 1]
    return issuer !== undefined && !(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey))
  })
  if (broken >= 0)
    return [
      failed(
        `certificate ${broken + 2} in the file did not issue the one before it`,
        'put the chain in order, your own certificate first',
      ),
    ]
  const last = chain.at(-1)
  if (!last || isKnown(last)) return []
  return [
    warning(
      `the last certificate in the file was not issued by an authority that clients trust (${last.subject.replaceAll('\n', ', ')})`,
      'add the intermediate certificate; for a private authority, install its root on the clients',
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
      'the running panel serves another certificate',
      "it loads a new file within a minute; 'systemctl reload ncp' does so now",
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
