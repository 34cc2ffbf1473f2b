/** `ncp migrate …`: shows and applies database migrations without starting the panel. */
import type { Command } from 'commander'
import { systemClock } from '../core/clock.ts'
import { formatTimestamp } from '../core/timestamp.ts'
import { dataPaths } from '../data-directory.ts'
import { requireWhole, seizeDirectory } from '../db/sqlite/data-lock.ts'
import { type MigrationState, migrateFile, readMigrationStates } from '../db/sqlite/migrate.ts'
import { withSettings } from './flags.ts'
import { configAsOwner, installed } from './installation.ts'
import { print } from './output.ts'
import { printList } from './table.ts'
import { humanTime } from './units.ts'

export function addMigrate(program: Command): void {
  const migrate = program.command('migrate').description("bring the database to this version's schema")

  withSettings(migrate.command('status'), ['data'])
    .description('show which migrations are applied and which are pending; changes nothing')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }, command: Command) => {
      const states = readMigrationStates(await databaseOf(command))
      printList({
        rows: states,
        json,
        toJson,
        fields: fieldsOf,
        columns: {
          MIGRATION: ({ name }) => name,
          APPLIED: ({ appliedAt }) => (appliedAt === undefined ? 'pending' : humanTime(appliedAt)),
          '': ({ isOurs }) => (isOurs ? '' : 'unknown to this version'),
        },
        empty: 'No migrations.',
      })
      const foreign = states.find(({ isOurs }) => !isOurs)
      if (foreign)
        throw new Error(`this version does not know the migration ${foreign.name}; run the version that applied it`)
    })

  withSettings(migrate.command('up'), ['data'])
    .description(
      'apply pending migrations, as ncp serve does when it starts; a copy of the old database is kept beside it',
    )
    .action(async (_: unknown, command: Command) => {
      const { data } = installed(await configAsOwner(command))
      const path = dataPaths(data).database
      const release = seizeDirectory(data)
      if (!release) throw new Error(`a panel or another command is using ${data}; stop it first`)
      try {
        requireWhole(data)
        const pending = readMigrationStates(path).filter(({ appliedAt }) => appliedAt === undefined)
        migrateFile(path, systemClock.now())
        for (const { name } of pending) print(`applied ${name}`)
        print(pending[0] ? `a copy of the old database is in ${path}.before-${pending[0].name}` : 'nothing to apply')
      } finally {
        release()
      }
    })
}

async function databaseOf(command: Command): Promise<string> {
  const { data } = installed(await configAsOwner(command))
  requireWhole(data)
  return dataPaths(data).database
}

/** For a pipe. */
function fieldsOf({ name, appliedAt, isOurs }: MigrationState) {
  const when = appliedAt === undefined ? 'pending' : formatTimestamp(appliedAt)
  return isOurs ? [name, when] : [name, when, 'unknown']
}

function toJson({ name, appliedAt, isOurs }: MigrationState) {
  return { name, applied_at: appliedAt === undefined ? null : formatTimestamp(appliedAt), known: isOurs }
}
