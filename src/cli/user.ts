/** `ncp user …`: the rescue on the server, with the same services as the API, at work while the panel runs. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { TSchema } from 'elysia'
import type { Context } from '../context.ts'
import { operator } from '../core/actor.ts'
import { allRows } from '../core/page.ts'
import type { Role } from '../core/principal.ts'
import { checkPasswordRules } from '../crypto/password-rules.ts'
import { CreateUser, toAccount, toInvitedAccount } from '../features/users/model.ts'
import type { User } from '../features/users/users.ts'
import { checksOf } from '../http/schema.ts'
import { configOf, withSettings } from './flags.ts'
import { onInstallation, userByEmail, withContext } from './installation.ts'
import { print, printJson } from './output.ts'

type CreateOptions = { email: string; name?: string; role: Role; passwordStdin?: true; json?: true }
/** Of all commands that name one user; `new` and `passwordStdin` are one command's each. */
type OneUserOptions = { email?: string; json?: true; passwordStdin?: true; new?: string }

export function addUser(program: Command): void {
  const user = program.command('user').description('manage users, also while the panel runs')

  withSettings(user.command('create'), ['data'])
    .description('create a user; without a password, print a token to set one with')
    .requiredOption('--email <email>', 'login identity', obeying(CreateUser.properties.email))
    .option('--name <name>', 'name (default: the email)', obeying(CreateUser.properties.name))
    .addOption(new Option('--role <role>').choices(['admin', 'customer']).default('customer'))
    .option('--password-stdin', 'read the password from standard input')
    .option('--json', 'print JSON')
    .action(async (options: CreateOptions, command: Command) =>
      withContext(await configOf(command), (context) => createUser(context, options)),
    )

  withSettings(user.command('list'), ['data'])
    .description('list all users')
    .option('--json', 'print JSON')
    .action((options: { json?: true }, command: Command) =>
      onInstallation(command, (context) => listUsers(context, options)),
    )

  const passwd: Command = oneUser(
    'passwd',
    'set the password of a user and end all sessions of the user',
    async (context, found, options) => {
      const password = await readPassword(options.passwordStdin === true)
      if (password === undefined) passwd.error('error: give the password with --password-stdin')
      await context.password.replace(operator, found, password)
      return found
    },
  ).option('--password-stdin', 'read the password from standard input')
  oneUser('disable', 'refuse all credentials of a user', (context, { id }) =>
    context.users.change(operator, id, { status: 'disabled' }),
  )
  oneUser('enable', 'let a disabled user in again', (context, { id }) =>
    context.users.change(operator, id, { status: 'active' }),
  )
  oneUser('unlock', 'let a user try again whose account is throttled', async (context, found) => {
    await context.throttle.unlock(operator, found.id)
    return found
  })
  oneUser('delete', 'delete a user with all keys, subscriptions and sites', async (context, found) => {
    await context.users.remove(operator, found.id)
    return found
  })
  const setEmail: Command = oneUser(
    'set-email',
    'move a user who lost the mailbox to another address',
    async (context, { id }, options) => {
      await context.emailChange.replace(
        operator,
        id,
        options.new ?? setEmail.error('error: give the address with --new'),
      )
      return context.users.get(id)
    },
  ).option('--new <email>', 'the new address', obeying(CreateUser.properties.email))
  oneUser('reset-2fa', 'switch two-factor authentication off for a user who lost it', async (context, { id }) => {
    await context.twoFactor.reset(operator, id)
    return context.users.get(id)
  })

  /** A command that names one user, by argument or by `--email`. */
  function oneUser(
    name: string,
    description: string,
    act: (context: Context, user: User, options: OneUserOptions) => Promise<User>,
  ): Command {
    return withSettings(user.command(name), ['data'])
      .description(description)
      .argument('[email]', 'login identity')
      .option('--email <email>', 'the same as the argument')
      .option('--json', 'print JSON')
      .action((argument: string | undefined, options: OneUserOptions, command: Command) => {
        const email = argument ?? options.email
        if (email === undefined) command.error("error: missing argument 'email'")
        return onInstallation(command, async (context) => {
          const found = await userByEmail(context, email)
          show(await act(context, found, options), options)
        })
      })
  }
}

async function createUser(context: Context, { email, name = email, role, passwordStdin, json }: CreateOptions) {
  // `serve` makes the administrator only while there is no user at all: this one must not be in its way.
  if (role !== 'admin') await context.initialAdmin.ensure()
  const password = passwordStdin ? await readPassword(true) : undefined
  if (password === undefined) {
    const invited = await context.users.invite(operator, { email, name, role })
    if (json) {
      printJson(toInvitedAccount(invited))
    } else {
      show(invited.user, {})
      print(`activation token, valid for 24 hours: ${invited.activation.token}`)
    }
    return
  }
  await checkPasswordRules('password', password, email)
  show(await context.users.create(operator, { email, name, role }, await context.passwords.hash(password)), {
    ...(json && { json }),
  })
}

async function listUsers({ users }: Context, { json }: { json?: true }): Promise<void> {
  const all = await allRows(users.list)
  if (json) printJson(all.map(toAccount))
  else for (const user of all) show(user, {})
}

function show(user: User, { json }: { json?: true }): void {
  if (json) {
    printJson(toAccount(user))
    return
  }
  const { id, email, role, status, totpEnabledAt } = user
  print([id, email, role, status, totpEnabledAt === null ? '-' : '2fa'].join('\t'))
}

/** The API's own rule for a value, so that both doors let the same users in. */
function obeying(schema: TSchema) {
  return (value: string): string => {
    const checks = checksOf(schema)
    if (checks && !checks.obeys(value as never)) throw new InvalidArgumentError(`It ${checks.rule}.`)
    return value
  }
}

/** @returns undefined when nobody is there to ask */
async function readPassword(fromStdin: boolean): Promise<string | undefined> {
  if (fromStdin) return (await Bun.stdin.text()).replace(/\r?\n$/, '')
  if (!process.stdin.isTTY) return undefined
  const { password: promptPassword } = await import('@clack/prompts')
  const answer = await promptPassword({ message: 'New password' })
  return typeof answer === 'string' ? answer : undefined
}
