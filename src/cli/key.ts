/** `ncp key …`: finds and revokes API keys on the server, even while the panel runs. */
import { type Command, InvalidArgumentError } from 'commander'
import { operator } from '../core/actor.ts'
import { AppError } from '../core/errors.ts'
import { allRows } from '../core/page.ts'
import type { ApiKey } from '../features/account/api-keys/api-keys.ts'
import { toApiKey } from '../features/account/api-keys/model.ts'
import { findKey } from '../features/account/api-keys/rows.ts'
import { confirm, withYes } from './confirm.ts'
import { withSettings } from './flags.ts'
import { onInstallation, userByEmail } from './installation.ts'
import { isTerminal, print } from './output.ts'
import { line, printList } from './table.ts'
import { humanTime } from './units.ts'

export function addKey(program: Command): void {
  const key = program.command('key').description('find and revoke API keys, even while the panel is running')

  withSettings(key.command('list'), ['data'])
    .description('list the API keys of a user')
    .argument('<email>', 'email of the user')
    .option('--json', 'print JSON')
    .action((email: string, { json }: { json?: true }, command: Command) =>
      onInstallation(command, async (panel) => {
        const { id } = await userByEmail(panel, email)
        printList({
          rows: await allRows((page) => panel.apiKeys.list(id, page)),
          json,
          toJson: toApiKey,
          fields: fieldsOf,
          columns: {
            ID: (row) => row.id,
            PREFIX: (row) => row.keyPrefix,
            NAME: (row) => row.name,
            'LAST USED': ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : humanTime(lastUsedAt)),
            EXPIRES: ({ expiresAt }) => (expiresAt === null ? 'never' : humanTime(expiresAt)),
            SCOPES: (row) => toApiKey(row).scopes?.join(', ') ?? '',
            ADDRESSES: (row) => toApiKey(row).allowed_cidrs?.join(', ') ?? '',
            SUBSCRIPTION: (row) => toApiKey(row).subscription_id ?? '',
            SITES: (row) => toApiKey(row).sites?.join(', ') ?? '',
          },
          empty: `${email} has no API keys.`,
        })
      }),
    )

  const revoke = withYes(withSettings(key.command('revoke'), ['data']))
    .description('delete an API key; it stops working at once')
    .argument('<id>', "id of the key, from 'ncp key list'", readId)
    .action((id: number, { yes }: { yes?: true }) =>
      onInstallation(revoke, async ({ apiKeys, users, store }) => {
        const found = await findKey(store.read, id)
        if (!found) throw new AppError('not_found', 'no API key has this id')
        const { email } = await users.get(found.userId)
        const what = `the API key "${found.name}" (${found.keyPrefix}…) of ${email}`
        await confirm(revoke, { ask: `Revoke ${what}? This cannot be undone.`, yes })
        const revoked = await apiKeys.revoke(operator, id)
        print(isTerminal() ? `Revoked ${what}.` : line(fieldsOf(revoked)))
      }),
    )
}

/** For a pipe. Of what is limited: to what; a comma stands between several. */
function fieldsOf(row: ApiKey) {
  const { id, key_prefix, name, last_used_at, expires_at, scopes, allowed_cidrs, subscription_id, sites } =
    toApiKey(row)
  return [
    id,
    key_prefix,
    name,
    last_used_at ?? 'never used',
    expires_at ?? 'no expiry',
    scopes?.join() ?? 'all scopes',
    allowed_cidrs?.join() ?? 'any address',
    subscription_id === undefined ? 'all subscriptions' : `subscription ${subscription_id}`,
    sites === undefined ? 'all sites' : `sites ${sites.join()}`,
  ]
}

function readId(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a number.')
  return Number(text)
}
