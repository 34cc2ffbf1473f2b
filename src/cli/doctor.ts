/** `ncp doctor`: checks everything that a panel needs, and says what is wrong and what to do. It changes nothing. */
import { existsSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { nodeLayout } from '../agent/layout.ts'
import { ConfigError } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { isEmailAddress } from '../core/email.ts'
import { printable } from '../core/printable.ts'
import { checkBackups } from './doctor/backups.ts'
import { checkCertificate } from './doctor/certificate.ts'
import { checkClock } from './doctor/clock.ts'
import { checkDataDirectory, inaccessible } from './doctor/data-directory.ts'
import { checkDatabase, checkVersions } from './doctor/database.ts'
import { checkDisk } from './doctor/disk.ts'
import { bounded, type Check, type Finding, failed, ok, type Status, warning } from './doctor/finding.ts'
import { checkMail } from './doctor/mail.ts'
import { checkNode } from './doctor/node.ts'
import { checkPanel, checkPorts } from './doctor/panel.ts'
import { checkName, checkProxy } from './doctor/public-url.ts'
import { exitCode } from './exit.ts'
import { configOf, withSettings } from './flags.ts'
import { configAsOwner } from './installation.ts'
import { flushed, isTerminal, print, printJson, printStyled, styled } from './output.ts'
import { line } from './table.ts'

type Named = Finding & { name: string }

const SLOW_DISK = "a disk or a network file system may hang: look at 'dmesg'"
const HANGING_PANEL = "the panel may hang: look at its log, then 'systemctl restart ncp'"

/** What to do when a check gets no answer from another program. */
const AFTER_SILENCE: Record<string, string> = {
  panel: HANGING_PANEL,
  ports: HANGING_PANEL,
  certificate: HANGING_PANEL,
  name: 'check the name servers in /etc/resolv.conf',
  proxy: 'check DNS, firewall and proxy',
  mail: 'check the address and port of the mail server, and the firewall',
}

export function addDoctor(program: Command): void {
  withSettings(program.command('doctor'), ['data', 'host', 'port', 'tls', 'tlsCert', 'tlsKey', 'backupDir'])
    .description(
      'check everything that a panel or a node needs; exit code 1 if a check failed, 0 otherwise, even with warnings',
    )
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
  // As root, before the rest becomes the owner of the data.
  const node = await examineNode()
  if (node.length > 0 && !(await hasPanel(command))) return [...named('versions', checkVersions()), ...node]
  return [...node, ...(await examinePanel(command, sendMail))]
}

/** @returns nothing on a machine that is no node */
async function examineNode(): Promise<Named[]> {
  const layout = nodeLayout()
  if (!existsSync(layout.names)) return []
  if (process.getuid?.() !== 0) return named('node', [warning('not looked at: only root can', 'sudo ncp doctor')])
  return named('node', await bounded(() => checkNode(layout), SLOW_DISK))
}

async function hasPanel(command: Command): Promise<boolean> {
  try {
    return existsSync((await configOf(command)).data)
  } catch {
    return true
  }
}

async function examinePanel(command: Command, sendMail: string | undefined): Promise<Named[]> {
  let config: Config
  try {
    // As the user that the panel runs as: it sees what the panel sees, and files that SQLite creates while reading belong to that user.
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
  // One cause, one finding: each of these would fail with it.
  const blocked = inaccessible(config.data)
  if (blocked) {
    checks['data directory'] = () => [blocked]
    for (const name of ['disk', 'database', 'backups', 'clock', 'panel']) delete checks[name]
    if (config.tlsCert === undefined) delete checks.certificate
  }
  const situation = { config, clock: systemClock }
  const looking = Object.entries(checks).map(async ([name, check]) =>
    named(name, await bounded(() => check(situation), AFTER_SILENCE[name] ?? SLOW_DISK)),
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
