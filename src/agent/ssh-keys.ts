/** The keys with which a subscription's user may use SFTP, in a file that only root can change. */
import {
  closeSync,
  constants,
  fchownSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { DesiredSubscription } from '../node/protocol.ts'
import { requireIds } from './checks.ts'
import { type NodeLayout, uidOf, userOf } from './layout.ts'

/** No options, no comment, one line: whatever the panel sends, it is a key and nothing else. */
const KEY = /^(?:ssh-ed25519|ecdsa-sha2-nistp(?:256|384|521)|ssh-rsa) [A-Za-z0-9+/]{16,4096}={0,2}$/
const MOST_KEYS = 100
/** sshd reads it as the user. */
const MODE = 0o640
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

export type SshKeys = ReturnType<typeof createSshKeys>

export function createSshKeys({ sshKeys: directory }: Pick<NodeLayout, 'sshKeys'>) {
  const fileOf = (subscriptionId: number) => join(directory, userOf(subscriptionId))

  function write(subscriptionId: number, text: string): void {
    const unfinished = join(directory, `.${userOf(subscriptionId)}`)
    rmSync(unfinished, { force: true })
    const file = openSync(unfinished, CREATE, MODE)
    try {
      writeSync(file, text)
      fchownSync(file, 0, uidOf(subscriptionId))
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(unfinished, fileOf(subscriptionId))
  }

  function isWritten(subscriptionId: number, text: string): boolean {
    const stat = lstatSync(fileOf(subscriptionId), { throwIfNoEntry: false })
    if (!stat?.isFile() || stat.uid !== 0 || stat.gid !== uidOf(subscriptionId)) return false
    return stat.mode % 0o1000 === MODE && readFileSync(fileOf(subscriptionId), 'utf8') === text
  }

  const remove = (subscriptionId: number) => rmSync(fileOf(subscriptionId), { force: true })

  return {
    /** Nobody may, while a subscription is suspended. @throws Error for what is no key, and where it cannot be written */
    ensure({ id, state, sshKeys = [] }: DesiredSubscription): void {
      requireIds(id)
      if (state !== 'active' || sshKeys.length === 0) {
        remove(id)
        return
      }
      if (sshKeys.length > MOST_KEYS || !sshKeys.every((key) => typeof key === 'string' && KEY.test(key))) {
        remove(id)
        throw new Error(`the panel sends keys of subscription ${id} that are none; nobody may use SFTP there`)
      }
      const text = sshKeys.map((key) => `${key}\n`).join('')
      if (!isWritten(id, text)) write(id, text)
    },

    remove,
  }
}
