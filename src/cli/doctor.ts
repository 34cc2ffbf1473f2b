/** `ncp doctor`: looks at everything that a panel needs, and says what is wrong and what to do. It changes nothing. */
import { type Command, InvalidArgumentError } from 'commander'
import { ConfigError } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { isEmailAddress } from '../core/email.ts'
import { printable } from '../core/printable.ts'
import { checkBackups } from './doctor/backups.ts'
import { checkCertificate } from './doctor/certificate.ts'
import { checkClock } from './doctor/clock.ts'
import { checkDataDirectory } from './doctor/data-directory.ts'
import { checkDatabase, checkVersions } from './doctor/database.ts'
import { checkDisk } from './doctor/disk.ts'
import { bounded, type Check, type Finding, failed, ok, type Status } from './doctor/finding.ts'
import { checkMail } from './doctor/mail.ts'
import { checkPanel, checkPorts } from './doctor/panel.ts'
import { checkName, checkProxy } from './doctor/public-url.ts'
import { exitCode } from './exit.ts'
import { withSettings } from './flags.ts'
import { configAsOwner } from './installation.ts'
import { flushed, isTerminal, print, printJson, printStyled, styled } from './output.ts'
import { line } from './table.ts'

type Named = Finding & { name: string }

export function addDoctor(program: Command): void {
  withSettings(program.command('doctor'), ['data', 'host', 'port', 'tls', 'tlsCert', 'tlsKey', 'backupDir'])
    .description('check everything that a panel needs; exit code 1 if a check failed, 0 otherwise, even with warnings')
    .option('--send-mail <email>', 'also send a test email to this address', readAddress)
    .option('--json', 'print JSON')
    .action(async ({ sendMail, json }: { sendMail?: string; json?: true }, command: Command) => {
      const findings = await examine(command, sendMail)
      const worst = (['failed', 'warning', 'ok'] as const).find((status) =>
        findings.some((found) => found.status === status),
      )
      if (json) printJson({ status: worst, checks: findings.map(toJson) })
      else report(findings)
      await flushed()
      // A name server that never answers must not keep the process alive.
      process.exit(worst === 'failed' ? exitCode.failed : exitCode.done)
    })
}

async function examine(command: Command, sendMail: string | undefined): Promise<Named[]> {
  let config: Config
  try {
    // As whom the panel runs: what that user cannot read, the panel cannot. And what SQLite makes while it reads is that user's.
    config = await configAsOwner(command)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const problems = error.message.split('\n').map((problem) => failed(problem))
    return [...named('versions', checkVersions()), ...named('configuration', problems)]
  }
  const checks: Record<string, Check> = {
    versions: checkVersions,
    configuration: () => [ok('every setting is valid')],
    'data directory': checkDataDirectory,
    disk: checkDisk,
    database: checkDatabase,
    backups: checkBackups,
    clock: checkClock,
    panel: checkPanel,
    ports: checkPorts,
    certificate: checkCertificate,
    name: checkName,
    proxy: checkProxy,
    mail: (situation) => checkMail(situation, sendMail),
  }
  const situation = { config, clock: systemClock }
  const looking = Object.entries(checks).map(async ([name, check]) =>
    named(name, await bounded(() => check(situation))),
  )
  return (await Promise.all(looking)).flat()
}

function named(name: string, findings: Finding[]): Named[] {
  return findings.map((finding) => ({ name, ...finding }))
}

const COLOURS: Record<Status, Parameters<typeof styled>[0]> = { ok: 'green', warning: 'yellow', failed: 'red' }

function report(findings: Named[]): void {
  if (!isTerminal()) {
    for (const { status, name, message, next = '' } of findings) print(line([status, name, message, next]))
    return
  }
  const width = Math.max(...findings.map(({ name }) => name.length))
  for (const { status, name, message, next } of findings) {
    printStyled(`${styled(COLOURS[status], status.padEnd(7))}  ${name.padEnd(width)}  ${printable(message)}`)
    if (next !== undefined && status !== 'ok')
      printStyled(`${' '.repeat(width + 11)}${styled('bold', '→')} ${printable(next)}`)
  }
  const count = (wanted: Status) => findings.filter(({ status }) => status === wanted).length
  print(`\n${count('failed')} failed, ${count('warning')} warnings`)
}

function toJson({ name, status, message, next }: Named) {
  return { name, status, message, next: next ?? null }
}

function readAddress(text: string): string {
  if (!isEmailAddress(text)) throw new InvalidArgumentError('It must be an email address.')
  return text
}
