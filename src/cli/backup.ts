/** `ncp backup …`: backups of the whole installation, made while the panel runs and restored while it does not. */
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
import { dataPaths } from '../data-directory.ts'
import { shareDirectory } from '../db/sqlite/data-lock.ts'
import { auditProblems } from '../features/operation/audit/prove-file.ts'
import { uses } from '../system/workarounds.ts'
import { BACKUP_THREAD } from '../threads.ts'
import { confirm, withYes } from './confirm.ts'
import { withSettings } from './flags.ts'
import { configAsOwner, installed } from './installation.ts'
import { isTerminal, print, printJson } from './output.ts'
import { withProgress } from './progress.ts'
import { line, printList } from './table.ts'
import { humanBytes, humanTime } from './units.ts'

export function addBackup(program: Command): void {
  const backup = program.command('backup').description('back up the installation, and restore it')
  const settings = ['data', 'backupDir'] as const

  withSettings(backup.command('create'), settings)
    .description(
      'create a backup, even while the panel is running; it contains the secrets, so keep it as safe as the panel',
    )
    .option('--keep <number>', 'keep this many backups and delete older ones', readKeep)
    .option('--json', 'print JSON')
    .action(async ({ keep, json }: { keep?: number; json?: true }, command: Command) => {
      const config = installed(await configAsOwner(command))
      const release = shareDirectory(config.data)
      try {
        const directory = backupDirectory(config)
        const givesWay = uses(config, 'thread-priority')
        const options = { data: config.data, directory, nowMs: systemClock.now(), version, keep, givesWay }
        const { name } = await withProgress(json === true, (tell) => runBackup(BACKUP_THREAD, options, tell))
        const made = readBackup(join(directory, name))
        if (json) printJson(toJson(made))
        else print(isTerminal() ? `Created ${made.path}, ${humanBytes(made.bytes)}.` : line(fieldsOf(made)))
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
        empty: `No backups in ${directory}: 'ncp backup create' creates one.`,
      })
    })

  withSettings(backup.command('verify'), settings)
    .description('read a whole backup and check that it can be restored')
    .argument('[backup]', 'name of the backup, or path of its directory (default: the newest)')
    .action(async (name: string | undefined, _: unknown, command: Command) => {
      const found = find(await configAsOwner(command), name)
      const problems = await withProgress(false, (tell) => verifyBackup(found, auditProblems, tell))
      if (problems.length > 0) throw new Error(`${found.path} cannot be restored:\n${problems.join('\n')}`)
      print(`${found.name} is good: version ${found.manifest.version}, schema ${found.manifest.schema}`)
    })

  const restore = withYes(withSettings(backup.command('restore'), settings))
    .description(
      'replace the installation with a backup, while no panel is running; the old files are kept in the data directory',
    )
    .argument('<backup>', 'name of the backup, or path of its directory')
    .action(async (name: string, { yes }: { yes?: true }) => {
      const config = await configAsOwner(restore)
      const found = find(config, name)
      const from = `${found.name} of ${formatTimestamp(found.createdAt)}`
      if (existsSync(dataPaths(config.data).database)) {
        await confirm(restore, { ask: `Replace the panel in ${config.data} with ${from}?`, yes })
      }
      const { data } = config
      const aside = await withProgress(false, (tell) =>
        restoreBackup({ backup: found, data, nowMs: systemClock.now(), proveAudit: auditProblems, tell }),
      )
      print(`restored ${from} into ${config.data}`)
      if (aside !== undefined) print(`the previous files are in ${aside}; delete them when you no longer need them`)
      print(
        "sessions and API keys that were revoked since are valid again: run 'ncp session revoke-all --everybody' and 'ncp key revoke'",
      )
    })
}

/** @throws Error when there is no such backup */
function find(config: Config, name: string | undefined): Backup {
  const directory = backupDirectory(config)
  if (name === undefined) {
    const newest = listBackups(directory).at(-1)
    if (!newest) throw new Error(`there is no backup in ${directory}; 'ncp backup create' creates one`)
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
