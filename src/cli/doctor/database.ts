/** The versions of the program, its runtime and the database schema, and whether they match. */
import { version } from '../../../package.json' with { type: 'json' }
import { dataPaths } from '../../data-directory.ts'
import { explainOpening } from '../../db/sqlite/explain-opening.ts'
import { readMigrationStates } from '../../db/sqlite/migrate.ts'
import { count } from '../units.ts'
import { needsPanel } from './data-directory.ts'
import { type Finding, failed, ok, type Situation, warning } from './finding.ts'

export function checkVersions(): Finding[] {
  return [ok(`ncp ${version} with Bun ${Bun.version} on ${process.platform} ${process.arch}`)]
}

export function checkDatabase({ config: { data } }: Situation): Finding[] {
  const absent = needsPanel(data)
  if (absent) return absent
  const path = dataPaths(data).database
  try {
    const states = readMigrationStates(path)
    const foreign = states.find(({ isOurs }) => !isOurs)
    if (foreign) {
      return [
        failed(`${path} was migrated by another version (${foreign.name})`, 'run that version, or restore a backup'),
      ]
    }
    const pending = states.filter(({ appliedAt }) => appliedAt === undefined)
    if (pending.length > 0) {
      return [
        warning(
          `${count(pending.length, 'migration')} pending for this version`,
          "the next start applies them; 'ncp migrate up' does it now",
        ),
      ]
    }
    return [ok(`${path} has the schema of this version, ${states.at(-1)?.name}`)]
  } catch (error) {
    throw explainOpening(error, path)
  }
}
