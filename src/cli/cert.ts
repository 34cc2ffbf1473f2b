/** `ncp cert …`: shows the certificate that the panel serves, and renews it early. */
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { labelOf } from '../config/labels.ts'
import { ConfigError } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { formatTimestamp } from '../core/timestamp.ts'
import { certificatePath, existingCertificate, ownCertificate, ownDirectory } from '../tls/certificate.ts'
import { isIssued, issueAndKeep } from '../tls/issued.ts'
import type { Certificate } from '../tls/pem.ts'
import { withSettings } from './flags.ts'
import { configAsOwner } from './installation.ts'
import { print, printJson } from './output.ts'
import { printFacts } from './table.ts'

export function addCert(program: Command): void {
  const cert = program.command('cert').description('show and renew the certificate, even while the panel is running')

  withSettings(cert.command('show'), ['data', 'tlsCert', 'tlsKey'])
    .description('print names, issuer, validity and fingerprint of the certificate')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }, command: Command) => {
      const facts = factsOf(certificateFor(await configAsOwner(command)))
      if (json) printJson(facts)
      else printFacts(facts)
    })

  withSettings(cert.command('renew'), ['data'])
    .description('renew the certificate now, whatever its age; a running panel serves the new one within a minute')
    .action(async (_: unknown, command: Command) => {
      const config = await configAsOwner(command)
      if (config.tlsCert !== undefined) {
        throw new ConfigError([
          `${labelOf(config, 'tlsCert')}: the panel cannot renew ${config.tlsCert}; renew it where it was issued, and a running panel loads it by itself`,
        ])
      }
      const { path, fingerprint } = isIssued(config) ? await issueAndKeep(config) : await renewOwn(config)
      print(`certificate ${path}, SHA-256 ${fingerprint}`)
    })
}

/** Replaces a damaged one too. @throws ConfigError where no panel has made one yet */
function renewOwn(config: Config): Promise<Certificate> {
  if (!existsSync(certificatePath(config))) certificateFor(config)
  return ownCertificate(ownDirectory(config), systemClock, { renew: true })
}

/** @throws ConfigError where there is none */
function certificateFor(config: Config): Certificate {
  if (!config.tls) throw new ConfigError([`${labelOf(config, 'tls')}: turns TLS off, so there is no certificate`])
  const certificate = existingCertificate(config, systemClock)
  if (certificate) return certificate
  throw new ConfigError([
    `${labelOf(config, 'data')}: there is no certificate in ${config.data}; 'ncp serve' creates one`,
  ])
}

function factsOf({ cert, path, fingerprint, expiresAt }: Certificate) {
  const { subject, issuer, subjectAltName = '', validFrom } = new X509Certificate(cert)
  return {
    path,
    subject: oneLine(subject),
    names: subjectAltName,
    issuer: subject === issuer ? 'itself' : oneLine(issuer),
    valid_from: formatTimestamp(Date.parse(validFrom)),
    expires_at: formatTimestamp(expiresAt),
    days_left: Math.floor((expiresAt - systemClock.now()) / 86_400_000),
    sha256: fingerprint,
  }
}

function oneLine(name: string): string {
  return name.replaceAll('\n', ', ')
}
