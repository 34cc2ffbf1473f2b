/** `ncp user …`: manages users on the server with the same services as the API, even while the panel runs. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { TSchema } from 'elysia'
import { operator } from '../core/actor.ts'
import { allRows } from '../core/page.ts'
import type { Role } from '../core/principal.ts'
import { checkPasswordRules } from '../crypto/password-rules.ts'
import { CreateUser, toAccount, toInvitedAccount } from '../features/account/users/model.ts'
import type { User } from '../features/account/users/users.ts'
import { checksOf } from '../http/schema.ts'
import type { Panel } from '../panel.ts'
import { confirm, withYes } from './confirm.ts'
import { withSettings } from './flags.ts'
import { configAsOwner, onInstallation, userByEmail, withPanel } from './installation.ts'
import { isTerminal, print, printJson } from './output.ts'
import { line, printList } from './table.ts'
import { count, humanTime } from './units.ts'

type CreateOptions = { email?: string; name?: string; role: Role; passwordStdin?: true; json?: true }
/** Of all commands that name one user; `new`, `passwordStdin` and `yes` are one command's each. */
type OneUserOptions = { email?: string; json?: true; passwordStdin?: true; new?: string; yes?: true }

type Act = {
  description: string
  /** Asked on a terminal before it is done. */
  ask?(user: User): string
  /** Whether data is lost for good. */
  losesData?: boolean
  /** @returns the user as shown to scripts */
  act(panel: Panel, user: User, options: OneUserOptions): Promise<User>
  /** What was done, for a terminal. @param ended how many sessions the user had */
  said(user: User, before: User, ended: string): string
}

export function addUser(program: Command): void {
  const user = program.command('user').description('manage users, even while the panel is running')

  const create: Command = withSettings(user.command('create'), ['data'])
    .description('create a user; without a password, print a token for setting one')
    .option('--email <email>', 'email to log in with, required', obeying(CreateUser.properties.email))
    .option('--name <name>', 'display name (default: the email)', obeying(CreateUser.properties.name))
    .addOption(
      new Option('--role <role>', 'what the user may do: a customer manages their own sites, an admin the whole panel')
        .choices(['admin', 'customer'])
        .default('customer'),
    )
    .option('--password-stdin', 'read the password from standard input')
    .option('--json', 'print JSON')
    .action(async (options: CreateOptions) => {
      // Not a required option: a mistyped one would be called missing, instead of unknown.
      const email = options.email ?? create.error("error: required option '--email <email>' not specified")
      await withPanel(await configAsOwner(create), (panel) => createUser(panel, email, options))
    })

  withSettings(user.command('list'), ['data'])
    .description('list all users')
    .option('--json', 'print JSON')
    .action((options: { json?: true }, command: Command) =>
      onInstallation(command, (panel) => listUsers(panel, options)),
    )

  const passwd: Command = oneUser('passwd', {
    description: 'set the password of a user and end all their sessions',
    async act(panel, found, options) {
      const password = await readPassword(options.passwordStdin === true)
      const given = password ?? passwd.error('error: give the password with --password-stdin')
      await panel.password.replace(operator, found, given)
      return found
    },
    said: ({ email }, _, ended) => `Set the password of ${email}; ${ended}.`,
  }).option('--password-stdin', 'read the password from standard input')
  oneUser('disable', {
    description: 'disable a user: refuse all their credentials',
    act: (panel, { id }) => panel.users.change(operator, id, { status: 'disabled' }),
    said: ({ email }, { status }, ended) =>
      status === 'disabled' ? `${email} was already disabled.` : `Disabled ${email}; ${ended}.`,
  })
  oneUser('enable', {
    description: 'let a disabled user log in again',
    act: (panel, { id }) => panel.users.change(operator, id, { status: 'active' }),
    said: ({ email }, { status }) =>
      status === 'active' ? `${email} was already enabled.` : `Enabled ${email}; the user has to log in again.`,
  })
  oneUser('unlock', {
    description: 'clear the failed logins of a user who is throttled',
    async act(panel, found) {
      await panel.administration.unlock(operator, found.id)
      return found
    },
    said: ({ email }) => `Unlocked ${email}; failed logins count from zero again.`,
  })
  oneUser('delete', {
    description: 'delete a user with all API keys, subscriptions and sites, permanently',
    ask: ({ email, role }) => `Delete the ${role} ${email} with all API keys, subscriptions and sites, permanently?`,
    losesData: true,
    async act(panel, found) {
      await panel.users.remove(operator, found.id)
      return found
    },
    said: ({ email }) => `Deleted ${email} with all API keys, subscriptions and sites.`,
  })
  const setEmail: Command = oneUser('set-email', {
    description: 'change the email of a user who has lost the mailbox',
    async act(panel, { id }, options) {
      const address = options.new ?? setEmail.error('error: give the address with --new')
      await panel.emailChange.replace(operator, id, address)
      return panel.users.get(id)
    },
    said: ({ email }, before) => `Changed the email of ${before.email} to ${email}.`,
  }).option('--new <email>', 'the new address', obeying(CreateUser.properties.email))
  oneUser('reset-2fa', {
    description: 'turn off two-factor authentication for a user who has lost the second factor',
    ask: ({ email }) => `Turn off two-factor authentication for ${email}? The password alone is then enough to log in.`,
    async act(panel, { id }) {
      await panel.twoFactor.reset(operator, id)
      return panel.users.get(id)
    },
    said: ({ email }, { totpEnabledAt }, ended) =>
      totpEnabledAt === null
        ? `${email} had no two-factor authentication.`
        : `Turned off two-factor authentication for ${email}; ${ended}.`,
  })

  /** A command that names one user, by argument or by `--email`. */
  function oneUser(name: string, { description, ask, losesData = false, act, said }: Act): Command {
    const command: Command = withSettings(user.command(name), ['data'])
      .description(description)
      .argument('[email]', 'email of the user')
      .option('--email <email>', 'same as the argument')
      .option('--json', 'print JSON')
      .action((argument: string | undefined, options: OneUserOptions) => {
        const email = argument ?? options.email
        if (email === undefined) command.error("error: missing argument 'email'")
        return onInstallation(command, async (panel) => {
          const before = await userByEmail(panel, email)
          if (ask) await confirm(command, { ask: ask(before), yes: options.yes, losesData })
          const sessions = await allRows((page) => panel.sessions.list(before.id, page))
          const after = await act(panel, before, options)
          const status = name === 'delete' ? 'deleted' : after.status
          if (!options.json && isTerminal()) print(said(after, before, `${count(sessions.length, 'session')} ended`))
          else show(after, { ...options, status })
        })
      })
    return ask ? withYes(command) : command
  }
}

async function createUser(panel: Panel, email: string, options: CreateOptions): Promise<void> {
  const { name = email, role, passwordStdin, json } = options
  // `serve` makes the administrator only while there is no user at all: this one must not be in its way.
  if (role !== 'admin') await panel.initialAdmin.ensure()
  const password = passwordStdin ? await readPassword(true) : undefined
  if (password === undefined) {
    const invited = await panel.users.invite(operator, { email, name, role })
    if (json) {
      printJson(toInvitedAccount(invited))
    } else {
      showCreated(invited.user)
      print(`activation token, valid for 24 hours: ${invited.activation.token}`)
    }
    return
  }
  await checkPasswordRules('password', password, email)
  const created = await panel.users.create(operator, { email, name, role }, await panel.passwords.hash(password))
  if (json) printJson(toAccount(created))
  else showCreated(created)
}

async function listUsers({ users }: Panel, { json }: { json?: true }): Promise<void> {
  printList({
    rows: await allRows(users.list),
    json,
    toJson: toAccount,
    fields: fieldsOf,
    columns: {
      ID: ({ id }) => id,
      EMAIL: ({ email }) => email,
      NAME: ({ name, email }) => (name === email ? '' : name),
      ROLE: ({ role }) => role,
      STATUS: ({ status }) => status,
      '2FA': ({ totpEnabledAt }) => (totpEnabledAt === null ? 'off' : 'on'),
      CREATED: ({ createdAt }) => humanTime(createdAt),
    },
    empty: "No users yet: 'ncp serve' creates the first administrator.",
  })
}

function showCreated(user: User): void {
  if (isTerminal()) print(`Created the ${user.role} ${user.email}.`)
  else print(line(fieldsOf(user)))
}

/** @param options.status in place of the user's, which a deleted one no longer has */
function show(user: User, { json, status }: { json?: true; status: User['status'] | 'deleted' }): void {
  if (json) printJson({ ...toAccount(user), status })
  else print(line(fieldsOf({ ...user, status })))
}

/** For a pipe. */
function fieldsOf({ id, email, role, status, totpEnabledAt }: Omit<User, 'status'> & { status: string }) {
  return [id, email, role, status, totpEnabledAt === null ? '-' : '2fa']
}

/** The API's own rule for a value, so that both doors let the same users in. */
function obeying(schema: TSchema) {
  return (value: string): string => {
    const checks = checksOf(schema)
    if (checks && !checks.obeys(value as never)) throw new InvalidArgumentError(`It ${checks.rule}.`)
    return value
  }
}

/** @returns undefined where there is no terminal to ask on */
async function readPassword(fromStdin: boolean): Promise<string | undefined> {
  if (fromStdin) return (await Bun.stdin.text()).replace(/\r?\n$/, '')
  if (!process.stdin.isTTY) return undefined
  const { password: promptPassword } = await import('@clack/prompts')
  const answer = await promptPassword({ message: 'New password', output: process.stderr })
  return typeof answer === 'string' ? answer : undefined
}
