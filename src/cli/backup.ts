/** `ncp backup …`: copies of the whole installation, made while the panel runs, and put back while it doesn't. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { version } from '../../package.json' with { type: 'json' }
import { type Backup, backupDirectory, listBackups, readBackup } from '../backup/catalogue.ts'
import { DATABASE } from '../backup/files.ts'
import { restoreBackup } from '../backup/restore.ts'
import { runBackup } from '../backup/run.ts'
import { verifyBackup } from '../backup/verify.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { formatTimestamp } from '../core/timestamp.ts'
import { shareDirectory } from '../db/sqlite/data-lock.ts'
import { auditProblems } from '../features/operation/audit/prove-file.ts'
import { BACKUP_THREAD } from '../threads.ts'
import { confirm, withYes } from './confirm.ts'
import { withSettings } from './flags.ts'
import { configAsOwner, installed } from './installation.ts'
import { isTerminal, print, printJson } from './output.ts'
import { withProgress } from './progress.ts'
import { line, printList } from './table.ts'
import { humanBytes, humanTime } from './units.ts'

export function addBackup(program: Command): void {
  const backup = program.command('backup').description('back the installation up, and restore it')
  const settings = ['data', 'backupDir'] as const

  withSettings(backup.command('create'), settings)
    .description('make a backup, also while the panel runs; it holds the secrets: keep it as safe as the panel')
    .option('--keep <number>', 'delete the oldest beyond this many', readKeep)
    .option('--json', 'print JSON')
    .action(async ({ keep, json }: { keep?: number; json?: true }, command: Command) => {
      const config = installed(await configAsOwner(command))
      const release = shareDirectory(config.data)
      try {
        const directory = backupDirectory(config)
        const options = { data: config.data, directory, nowMs: systemClock.now(), version, keep }
        const { name } = await withProgress(json === true, (tell) => runBackup(BACKUP_THREAD, options, tell))
        const made = readBackup(join(directory, name))
        if (json) printJson(toJson(made))
        else print(isTerminal() ? `Made ${made.path}, ${humanBytes(made.bytes)}.` : line(fieldsOf(made)))
      } finally {
        release()
      }
    })

  withSettings(backup.command('list'), settings)
    .description('list the backups, oldest first')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }, command: Command) => {
      const directory = backupDirectory(await configAsOwner(command))
      printList({
        rows: listBackups(directory),
        json,
        toJson,
        fields: fieldsOf,
        columns: {
          NAME: ({ name }) => name,
          CREATED: ({ createdAt }) => humanTime(createdAt),
          SIZE: ({ bytes }) => humanBytes(bytes),
          VERSION: ({ manifest }) => manifest.version,
        },
        empty: `No backups in ${directory}: 'ncp backup create' makes one.`,
      })
    })

  withSettings(backup.command('verify'), settings)
    .description('read a whole backup, and tell whether it can be restored')
    .argument('[backup]', 'its name, or the path of its directory (default: the newest)')
    .action(async (name: string | undefined, _: unknown, command: Command) => {
      const found = find(await configAsOwner(command), name)
      const problems = await withProgress(false, (tell) => verifyBackup(found, auditProblems, tell))
      if (problems.length > 0) throw new Error(`${found.path} cannot be restored:\n${problems.join('\n')}`)
      print(`${found.name} is good: version ${found.manifest.version}, schema ${found.manifest.schema}`)
    })

  const restore = withYes(withSettings(backup.command('restore'), settings))
    .description('replace the installation by a backup, while no panel runs; the old files are kept beside it')
    .argument('<backup>', 'its name, or the path of its directory')
    .action(async (name: string, { yes }: { yes?: true }) => {
      const config = await configAsOwner(restore)
      const found = find(config, name)
      const from = `${found.name} of ${formatTimestamp(found.createdAt)}`
      if (existsSync(join(config.data, DATABASE))) {
        await confirm(restore, { ask: `Replace the panel in ${config.data} by ${from}?`, yes })
      }
      const { data } = config
      const aside = await withProgress(false, (tell) =>
        restoreBackup({ backup: found, data, nowMs: systemClock.now(), proveAudit: auditProblems, tell }),
      )
      print(`restored ${from} into ${config.data}`)
      if (aside !== undefined) print(`what was there before is in ${aside}; delete it when you no longer need it`)
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

/** For a pipe. */
function fieldsOf({ name, createdAt, bytes, manifest }: Backup) {
  return [name, formatTimestamp(createdAt), `${bytes} bytes`, manifest.version]
}

function toJson({ name, path, createdAt, bytes, manifest: { version, schema } }: Backup) {
  return { name, path, created_at: formatTimestamp(createdAt), bytes, version, schema }
}

function readKeep(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 9999.')
  return Number(text)
}
