/** `ncp audit …`: prove on the server that nothing was changed in the audit log or taken out of it. */
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { DATABASE } from '../backup/files.ts'
import { auditSchemaProblems } from '../db/sqlite/schema.ts'
import { type Link, verifyChain } from '../features/operation/audit/verify.ts'
import { withSettings } from './flags.ts'
import { onInstallation } from './installation.ts'
import { print, printJson } from './output.ts'

export function addAudit(program: Command): void {
  const audit = program.command('audit').description('verify the audit log, also while the panel runs')

  withSettings(audit.command('verify'), ['data'])
    .description(
      'check the hash chain of all entries and what protects it; keep what it prints elsewhere, as an anchor for the next time',
    )
    .option('--anchor <id:hash>', 'an entry that was printed before, and must still be there', readLink)
    .option('--json', 'print JSON')
    .action(({ anchor, json }: { anchor?: Link; json?: true }, command: Command) =>
      onInstallation(command, async ({ store, config }) => {
        const chain = await verifyChain(store, anchor)
        const problems = chain.valid ? auditSchemaProblems(join(config.data, DATABASE)) : []
        const outcome =
          problems.length === 0 ? chain : { valid: false as const, entryId: null, reason: problems.join('; ') }
        if (json) printJson(outcome)
        if (!outcome.valid && outcome.entryId === null) {
          throw new Error(`the audit log is not protected as the panel makes it: ${outcome.reason}`)
        }
        if (!outcome.valid) throw new Error(`the audit log is broken at entry ${outcome.entryId}: ${outcome.reason}`)
        if (!json) print(`${outcome.entries} entries, unbroken up to ${outcome.head.id}:${outcome.head.hash}`)
      }),
    )
}

function readLink(text: string): Link {
  const [, id, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (id === undefined || hash === undefined) throw new InvalidArgumentError('It must be an id, a colon and a hash.')
  return { id: Number(id), hash }
}
