/** `ncp key …`: find and revoke API keys on the server, at work while the panel runs. */
import { type Command, InvalidArgumentError } from 'commander'
import { operator } from '../core/actor.ts'
import { allRows } from '../core/page.ts'
import type { ApiKey } from '../features/api-keys/api-keys.ts'
import { toApiKey } from '../features/api-keys/model.ts'
import { withSettings } from './flags.ts'
import { onInstallation, userByEmail } from './installation.ts'
import { print, printJson } from './output.ts'

export function addKey(program: Command): void {
  const key = program.command('key').description('find and revoke API keys, also while the panel runs')

  withSettings(key.command('list'), ['data'])
    .description('list the keys of a user')
    .argument('<email>', 'login identity of the user')
    .option('--json', 'print JSON')
    .action((email: string, { json }: { json?: true }, command: Command) =>
      onInstallation(command, async (context) => {
        const { id } = await userByEmail(context, email)
        const keys = await allRows((page) => context.apiKeys.list(id, page))
        if (json) printJson(keys.map(toApiKey))
        else for (const row of keys) print(line(row))
      }),
    )

  withSettings(key.command('revoke'), ['data'])
    .description('delete a key, which ends with the next request')
    .argument('<id>', 'id of the key, from the list', readId)
    .action((id: number, _: unknown, command: Command) =>
      onInstallation(command, async ({ apiKeys }) => {
        print(line(await apiKeys.revoke(operator, id)))
      }),
    )
}

/** Of what is limited: to what; a comma stands between several. */
function line(row: ApiKey): string {
  const { id, key_prefix, name, last_used_at, expires_at, scopes, allowed_cidrs, subscription_id } = toApiKey(row)
  return [
    id,
    key_prefix,
    name,
    last_used_at ?? 'never used',
    expires_at ?? 'no expiry',
    scopes?.join() ?? 'all scopes',
    allowed_cidrs?.join() ?? 'any address',
    subscription_id === undefined ? 'all subscriptions' : `subscription ${subscription_id}`,
  ].join('\t')
}

function readId(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a number.')
  return Number(text)
}
