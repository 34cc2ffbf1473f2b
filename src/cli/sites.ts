/** `ncp sites`: the sites that a key sees. */
import type { Command } from 'commander'
import { connect, type ProfileOption, withProfile } from './client.ts'
import { printList } from './table.ts'

export function addSites(program: Command): void {
  withProfile(program.command('sites'))
    .description('list the sites of a panel that the key sees')
    .option('--json', 'print JSON')
    .action(async ({ json, ...options }: ProfileOption & { json?: true }) => {
      const panel = await connect(options)
      const { sitesOf } = await import('../client/sites.ts')
      printList({
        rows: await Array.fromAsync(sitesOf(panel)),
        json,
        toJson: (site) => site,
        fields: ({ id, domain, status, urls }) => [id, domain, status, urls[0] ?? 'not served'],
        columns: {
          ID: ({ id }) => id,
          DOMAIN: ({ domain }) => domain,
          ALIASES: ({ aliases }) => aliases.join(', '),
          STATUS: ({ status }) => status,
          URL: ({ urls }) => urls[0] ?? '',
        },
        empty: 'The key sees no sites.',
      })
    })
}
