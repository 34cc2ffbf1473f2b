/** `ncp session …`: end sessions on the server, at work while the panel runs. */
import type { Command } from 'commander'
import { operator } from '../core/actor.ts'
import { withSettings } from './flags.ts'
import { onInstallation, userByEmail } from './installation.ts'
import { print } from './output.ts'

export function addSession(program: Command): void {
  const session = program.command('session').description('end sessions, also while the panel runs')

  withSettings(session.command('revoke-all'), ['data'])
    .description('end all sessions, of one user or of everybody; API keys stay')
    .argument('[email]', 'login identity of the user')
    .option('--everybody', 'instead of one user')
    .action((email: string | undefined, { everybody }: { everybody?: true }, command: Command) => {
      if ((email === undefined) === (everybody === undefined)) command.error('error: give an email, or --everybody')
      return onInstallation(command, async (context) => {
        const userId = email === undefined ? undefined : (await userByEmail(context, email)).id
        print(`${await context.sessions.endAll(operator, userId)} sessions ended`)
      })
    })
}
