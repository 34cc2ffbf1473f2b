/** `ncp upgrade`: installs another version after trying it on a copy, and rolls back if it does not become ready. */
import { chmodSync, copyFileSync, existsSync, linkSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { execPath } from 'node:process'
import type { Command } from 'commander'
import { hashOfFile } from '../backup/files.ts'
import { sync } from '../system/sync.ts'
import { configOf, withSettings } from './flags.ts'
import { installed } from './installation.ts'
import { print } from './output.ts'
import { run } from './run.ts'

type UpgradeOptions = { sums?: string; service: string; config?: string }

/** Runs a command of `program` on a data directory, as the user that the data belongs to. @returns what it printed */
type RunNcp = (program: string, data: string, ...command: string[]) => string

export function addUpgrade(program: Command): void {
  withSettings(program.command('upgrade'), ['data'])
    .description(
      'replace this program, where systemd runs it, with another version; roll back if that does not become ready',
    )
    .argument('<file>', 'program file of the other version')
    .option('--sums <file>', 'checksums of the release (default: SHA256SUMS beside the file)')
    .option('--service <name>', 'systemd unit that runs the panel', 'ncp')
    .action(async (file: string, options: UpgradeOptions, command: Command) => {
      const { data } = installed(await configOf(command))
      await upgrade(file, resolve(data), options)
    })
}

/** @throws Error that says what failed; this version is in place as before */
async function upgrade(file: string, data: string, options: UpgradeOptions): Promise<void> {
  if (execPath.startsWith('/usr/bin/'))
    throw new Error(`${execPath} belongs to a package: install the package of the other version`)
  if (!existsSync(file)) throw new Error(`${file} does not exist: give the path of the other version`)
  // Before anything takes time: a backup and a trial would be for nothing.
  requireService(options.service, file)
  const next = `${execPath}.next`
  const ncp = runnerFor(data, options.config)
  try {
    // A copy: what is checked is what will run.
    copyFileSync(file, next)
    chmodSync(next, 0o755)
    // After a power cut a name without its content would be no program.
    sync(next)
    await requireSum(next, file, options.sums ?? join(dirname(file), 'SHA256SUMS'))
    const version = run([next, 'version']).trim()
    const migrates = tryOnCopy(next, data, ncp)
    print(`version ${version} works with a copy of the database`)
    exchange({ next, data, migrates, service: options.service, ncp })
    print(`version ${version} is running; the previous one is ${execPath}.previous`)
  } finally {
    rmSync(next, { force: true })
  }
}

/** @throws Error that says what to do where systemd does not run the panel */
function requireService(service: string, file: string): void {
  const byHand = `stop the panel, copy ${file} over ${execPath}, start it again`
  if (!Bun.which('systemctl')) throw new Error(`this machine has no systemd, so upgrade by hand: ${byHand}`)
  const shown = Bun.spawnSync(['systemctl', 'show', '--property=LoadState', '--value', '--', service], {
    stderr: 'pipe',
  })
  const state = shown.stdout.toString().trim()
  if (shown.exitCode !== 0) {
    throw new Error(`systemd does not answer, so upgrade by hand: ${byHand} (${shown.stderr.toString().trim()})`)
  }
  if (state !== 'loaded') {
    throw new Error(
      `systemd has no unit ${service} (${state}): name the unit that runs the panel with --service, or create it with 'ncp systemd install'`,
    )
  }
}

/**
 * Restores a backup with the other version, and migrates that.
 *
 * @returns whether it migrates
 */
function tryOnCopy(next: string, data: string, ncp: RunNcp): boolean {
  const trial = join(data, 'upgrade-trial')
  rmSync(trial, { recursive: true, force: true })
  const backup = backUp(data, ncp)
  print(`backed up to ${backup}`)
  try {
    ncp(next, trial, 'backup', 'restore', backup)
    ncp(next, trial, 'migrate', 'up')
  } finally {
    rmSync(trial, { recursive: true, force: true })
  }
  const states: { applied_at: string | null }[] = JSON.parse(ncp(next, data, 'migrate', 'status', '--json'))
  return states.some(({ applied_at }) => applied_at === null)
}

type Exchange = { next: string; data: string; migrates: boolean; service: string; ncp: RunNcp }

/** Between the two versions nothing runs and nothing is written, so that going back loses nothing. */
function exchange({ next, data, migrates, service, ncp }: Exchange): void {
  const previous = `${execPath}.previous`
  let isExchanged = false
  let backup: string | undefined
  // A half-done exchange would be worse than one that cannot be interrupted.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  run(['systemctl', 'stop', service])
  try {
    if (migrates) backup = backUp(data, ncp)
    // Linked and not moved: a machine that goes down in between starts the one version or the other.
    rmSync(previous, { force: true })
    linkSync(execPath, previous)
    renameSync(next, execPath)
    isExchanged = true
    sync(dirname(execPath))
    // The unit counts as started when the panel serves.
    run(['systemctl', 'start', service])
  } catch (error) {
    run(['systemctl', 'stop', service])
    if (isExchanged) {
      renameSync(previous, execPath)
      sync(dirname(execPath))
      if (backup !== undefined) ncp(execPath, data, 'backup', 'restore', backup)
    }
    run(['systemctl', 'start', service])
    throw new Error(`the other version did not become ready, so this one is running again: ${(error as Error).message}`)
  }
}

/** @returns the path of the backup */
function backUp(data: string, ncp: RunNcp): string {
  return JSON.parse(ncp(execPath, data, 'backup', 'create', '--json')).path
}

/** @throws Error when the release's list has no such file, or another sum for it */
async function requireSum(copy: string, file: string, sums: string): Promise<void> {
  const name = basename(file)
  if (!existsSync(sums)) {
    throw new Error(
      `${sums} does not exist: download it with the program, or name it with --sums. For a program that you built yourself: sha256sum ${name} > SHA256SUMS`,
    )
  }
  const [, expected] =
    readFileSync(sums, 'utf8').match(new RegExp(`^([0-9a-f]{64}) [ *]${RegExp.escape(name)}$`, 'm')) ?? []
  if (expected === undefined) throw new Error(`${sums} has no checksum for ${name}`)
  if ((await hashOfFile(copy)) !== expected)
    throw new Error(`${name} does not match its checksum in ${sums}: download it again`)
}

function runnerFor(data: string, config: string | undefined): RunNcp {
  const { uid, gid } = statSync(data)
  // What root writes into the data of a service user, the service could not read.
  const owner = process.getuid?.() === 0 ? { uid, gid } : {}
  const settings = config === undefined ? [] : ['--config', config]
  return (program, directory, ...command) => run([program, ...command, '--data', directory, ...settings], owner)
}
