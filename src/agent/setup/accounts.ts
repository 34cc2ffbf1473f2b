/** The user of the web server and the group of those who may use SFTP. */
import { readFileSync } from 'node:fs'
import { SFTP_GROUP, WEB_USER } from '../layout.ts'
import { mustRun } from './program.ts'
import type { Step } from './step.ts'

type Account = { uid: number; gid: number }

/** @param file such as `/etc/passwd` */
const entryOf = (file: string, name: string): string[] | undefined =>
  readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([first]) => first === name)

/** @throws Error where there is no such user */
export function webAccount(): Account {
  const [, , uid, gid] = entryOf('/etc/passwd', WEB_USER) ?? []
  if (uid === undefined) throw new Error(`there is no user ${WEB_USER}`)
  return { uid: Number(uid), gid: Number(gid) }
}

const hasUser = () => entryOf('/etc/passwd', WEB_USER) !== undefined
const hasGroup = () => entryOf('/etc/group', SFTP_GROUP) !== undefined

/** @param hasCustomers whether files of customers are there, which name these accounts by number */
export const accounts = (hasCustomers: () => boolean): Step => ({
  look: () => [
    { what: `the user ${WEB_USER}`, state: hasUser() ? 'done' : 'todo' },
    { what: `the group ${SFTP_GROUP}`, state: hasGroup() ? 'done' : 'todo' },
  ],

  apply() {
    if (!hasUser()) {
      mustRun(
        ...(['useradd', '--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'] as const),
        ...(['--shell', '/usr/sbin/nologin', '--comment', 'web server of ncp', WEB_USER] as const),
      )
    }
    if (!hasGroup()) mustRun('groupadd', '--system', SFTP_GROUP)
  },

  undo() {
    if (hasCustomers()) return [`the user ${WEB_USER} and the group ${SFTP_GROUP}: files of customers belong to them`]
    if (hasUser()) mustRun('userdel', WEB_USER)
    if (hasGroup()) mustRun('groupdel', SFTP_GROUP)
    return []
  },
})
