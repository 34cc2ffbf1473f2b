/** `ncp audit …`: proves on the server that no entry of the audit log was changed or removed. */
import { type Command, InvalidArgumentError } from 'commander'
import { dataPaths } from '../data-directory.ts'
import { auditSchemaProblems } from '../db/sqlite/schema.ts'
import { type Link, verifyChain } from '../features/operation/audit/verify.ts'
import { withSettings } from './flags.ts'
import { onInstallation } from './installation.ts'
import { print, printJson } from './output.ts'

export function addAudit(program: Command): void {
  const audit = program.command('audit').description('verify the audit log, even while the panel is running')

  withSettings(audit.command('verify'), ['data'])
    .description(
      'check the hash chain of all entries and the schema that protects it; keep the printed id:hash elsewhere, as an anchor for the next check',
    )
    .option('--anchor <id:hash>', 'id and hash that an earlier check printed, which must still be in the log', readLink)
    .option('--json', 'print JSON')
    .action(({ anchor, json }: { anchor?: Link; json?: true }, command: Command) =>
      onInstallation(command, async ({ store, config }) => {
        const chain = await verifyChain(store, anchor)
        const problems = chain.valid ? auditSchemaProblems(dataPaths(config.data).database) : []
        const outcome =
          problems.length === 0 ? chain : { valid: false as const, entryId: null, reason: problems.join('; ') }
        if (json) printJson(outcome)
        if (!outcome.valid && outcome.entryId === null) {
          throw new Error(`the schema that protects the audit log has been changed: ${outcome.reason}`)
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
