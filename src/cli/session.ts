/** `ncp session …`: ends sessions on the server, even while the panel runs. */
import type { Command } from 'commander'
import { operator } from '../core/actor.ts'
import { confirm, withYes } from './confirm.ts'
import { withSettings } from './flags.ts'
import { onInstallation, userByEmail } from './installation.ts'
import { print } from './output.ts'
import { count } from './units.ts'

export function addSession(program: Command): void {
  const session = program.command('session').description('end sessions, even while the panel is running')

  const revokeAll = withYes(withSettings(session.command('revoke-all'), ['data']))
    .description('end all sessions of one user or of all users; API keys keep working')
    .argument('[email]', 'email of the user')
    .option('--everybody', 'end the sessions of all users')
    .action((email: string | undefined, { everybody, yes }: { everybody?: true; yes?: true }) => {
      if ((email === undefined) === (everybody === undefined))
        revokeAll.error('error: give either an email or --everybody')
      return onInstallation(revokeAll, async (panel) => {
        const userId = email === undefined ? undefined : (await userByEmail(panel, email)).id
        if (everybody) await confirm(revokeAll, { ask: 'End the sessions of all users?', yes })
        print(`${count(await panel.sessions.endAll(operator, userId), 'session')} ended`)
      })
    })
}
