/** `ncp backup …`: copies of the whole installation, made while the panel runs, and put back while it doesn't. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { version } from '../../package.json' with { type: 'json' }
import { type Backup, backupDirectory, listBackups, readBackup } from '../backup/catalogue.ts'
import { restoreBackup } from '../backup/restore.ts'
import { runBackup } from '../backup/run.ts'
import { verifyBackup } from '../backup/verify.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { formatTimestamp } from '../core/timestamp.ts'
import { shareDirectory } from '../db/data-lock.ts'
import { auditProblems } from '../features/audit/prove-file.ts'
import { becomeOwnerOf } from '../system/owner.ts'
import { BACKUP_THREAD } from '../threads.ts'
import { configOf, withSettings } from './flags.ts'
import { installed } from './installation.ts'
import { print, printJson } from './output.ts'

export function addBackup(program: Command): void {
  const backup = program.command('backup').description('back the installation up, and restore it')
  const settings = ['data', 'backupDir'] as const

  withSettings(backup.command('create'), settings)
    .description('make a backup, also while the panel runs; it holds the secrets: keep it as safe as the panel')
    .option('--keep <number>', 'delete the oldest beyond this many', readKeep)
    .option('--json', 'print JSON')
    .action(async ({ keep, json }: { keep?: number; json?: true }, command: Command) => {
      const config = installed(await configOf(command))
      becomeOwnerOf(config.data)
      const release = shareDirectory(config.data)
      try {
        const directory = backupDirectory(config)
        const options = { data: config.data, directory, nowMs: systemClock.now(), version, keep }
        const { name } = await runBackup(BACKUP_THREAD, options)
        show(readBackup(join(directory, name)), json)
      } finally {
        release()
      }
    })

  withSettings(backup.command('list'), settings)
    .description('list the backups, oldest first')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }, command: Command) => {
      const backups = listBackups(backupDirectory(await configOf(command)))
      if (json) printJson(backups.map(toJson))
      else for (const found of backups) show(found, undefined)
    })

  withSettings(backup.command('verify'), settings)
    .description('read a whole backup, and tell whether it can be restored')
    .argument('[backup]', 'its name, or the path of its directory (default: the newest)')
    .action(async (name: string | undefined, _: unknown, command: Command) => {
      const found = find(await configOf(command), name)
      const problems = await verifyBackup(found, auditProblems)
      if (problems.length > 0) throw new Error(`${found.path} cannot be restored:\n${problems.join('\n')}`)
      print(`${found.name} is good: version ${found.manifest.version}, schema ${found.manifest.schema}`)
    })

  withSettings(backup.command('restore'), settings)
    .description('replace the installation by a backup, while no panel runs; the old files are kept beside it')
    .argument('<backup>', 'its name, or the path of its directory')
    .action(async (name: string, _: unknown, command: Command) => {
      const config = await configOf(command)
      const found = find(config, name)
      becomeOwnerOf(config.data)
      const aside = await restoreBackup({
        backup: found,
        data: config.data,
        nowMs: systemClock.now(),
        proveAudit: auditProblems,
      })
      print(`restored ${found.name} of ${formatTimestamp(found.createdAt)} into ${config.data}`)
      if (aside !== undefined) print(`what was there before is in ${aside}; delete it when you don't need it any more`)
      print("what was revoked since is valid again: 'ncp session revoke-all --everybody' and 'ncp key revoke' end it")
    })
}

/** @throws Error when there is no such backup */
function find(config: Config, name: string | undefined): Backup {
  const directory = backupDirectory(config)
  if (name === undefined) {
    const newest = listBackups(directory).at(-1)
    if (!newest) throw new Error(`there is no backup in ${directory}; 'ncp backup create' makes one`)
    return newest
  }
  const named = join(directory, name)
  return readBackup(!name.includes('/') && existsSync(named) ? named : name)
}

function show(backup: Backup, json: true | undefined): void {
  if (json) printJson(toJson(backup))
  else
    print([backup.name, formatTimestamp(backup.createdAt), `${backup.bytes} bytes`, backup.manifest.version].join('\t'))
}

function toJson({ name, path, createdAt, bytes, manifest: { version, schema } }: Backup) {
  return { name, path, created_at: formatTimestamp(createdAt), bytes, version, schema }
}

function readKeep(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 9999.')
  return Number(text)
}
