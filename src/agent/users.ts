/** The Linux user of each subscription: the border between customers. */
import { createSemaphore } from '../core/semaphore.ts'
import type { Accounts } from './accounts.ts'
import { command } from './command.ts'
import { homeOf, type NodeLayout, SFTP_GROUP, uidOf, userOf } from './layout.ts'
import { endProcessesOf } from './processes.ts'

const NO_SHELL = '/usr/sbin/nologin'
/** Neither a password nor a lock: a locked user may not use keys either. */
const NO_PASSWORD = '*'
const MOST_WAITING = 1_000_000

export type Users = ReturnType<typeof createUsers>

export function createUsers({ layout, accounts }: { layout: NodeLayout; accounts: Accounts }) {
  const { users, groups } = accounts
  /** The programs lock /etc/passwd, and give up after some seconds. */
  const turns = createSemaphore(1, MOST_WAITING)

  /** @throws Error where someone else has the name or the number: it is theirs then */
  function find(subscriptionId: number): { hasUser: boolean; hasGroup: boolean } {
    const [name, id] = [userOf(subscriptionId), uidOf(subscriptionId)]
    const isFree = (table: Accounts['users'], what: string): boolean => {
      const [named, numbered] = [table.named(name), table.numbered(id)]
      if (!named && !numbered) return true
      if (named?.id === id && numbered?.name === name) return false
      throw new Error(`${what} ${name} must have the number ${id}, and one of both belongs to another ${what}`)
    }
    const found = { hasGroup: !isFree(groups, 'group'), hasUser: !isFree(users, 'user') }
    const gid = users.named(name)?.gid
    if (gid !== undefined && gid !== id) throw new Error(`user ${name} must have the group ${id}, and has ${gid}`)
    return found
  }

  async function make(subscriptionId: number): Promise<void> {
    const [name, id] = [userOf(subscriptionId), uidOf(subscriptionId)]
    const { hasUser, hasGroup } = find(subscriptionId)
    if (!hasGroup) await command('groupadd', '--gid', `${id}`, name)
    if (hasUser) return
    const inSftp = groups.named(SFTP_GROUP) ? ['--groups', SFTP_GROUP] : []
    await command(
      'useradd',
      ...['--uid', `${id}`, '--gid', `${id}`, '--no-user-group', ...inSftp],
      ...['--home-dir', homeOf(layout, subscriptionId), '--no-create-home', '--shell', NO_SHELL],
      ...['--password', NO_PASSWORD, '--comment', `Subscription ${subscriptionId} of ncp`],
      // No numbers of other users.
      ...['--key', 'SUB_UID_COUNT=0', '--key', 'SUB_GID_COUNT=0'],
      name,
    )
  }

  return {
    /** @returns whether it had to be made @throws Error where it cannot be */
    async ensure(subscriptionId: number): Promise<boolean> {
      const { hasUser, hasGroup } = find(subscriptionId)
      if (hasUser && hasGroup) return false
      await turns.run(() => make(subscriptionId))
      return true
    },

    /** Ends its processes first. @throws Error where some cannot be ended */
    async remove(subscriptionId: number): Promise<void> {
      const name = userOf(subscriptionId)
      await endProcessesOf(uidOf(subscriptionId))
      await turns.run(async () => {
        // Never by editing the files: what cannot be removed now is tried again.
        if (find(subscriptionId).hasUser) await command('userdel', name)
        // userdel takes the group along where it is nobody else's.
        if (find(subscriptionId).hasGroup) await command('groupdel', name)
      })
    },
  }
}
