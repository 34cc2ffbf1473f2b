/** The data directory and the database in it, made where there are none. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../db/sqlite/store.ts'
import type { Log } from '../log/log.ts'
import { requireOwnDirectory, requireOwnKey } from '../system/private-file.ts'
import { DISK_THREAD } from '../threads.ts'

/** What tells the panel itself, the only one on its data directory, from a command beside it. */
export type PanelProcess = {
  /** The disk does not keep what is written: the process has to end, and closes nothing. */
  onLostDisk(): void
}

export type OpenDataOptions = {
  directory: string
  nowMs: number
  log: Log
  /** Undefined for a command. */
  panel: PanelProcess | undefined
}

/** Keys, also with their certificate in one file, and the first password. */
const PRIVATE = ['jwt.key', 'totp.key', 'initial-admin-password', 'tls/key.pem', 'tls/acme.pem', 'tls/acme-account.key']

/** @throws Error when the directory or the database can't be used, or is open to other users of the machine */
export function openData({ directory, nowMs, log, panel }: OpenDataOptions) {
  // One that is there already may serve others too, and keeps its mode; the files in it are for their owner alone.
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  requireOwnDirectory(directory)
  const inData = (name: string) => join(directory, name)
  for (const name of PRIVATE) requireOwnKey(inData(name))
  const store = openStore(inData('ncp.db'), nowMs, {
    isNew: !existsSync(inData('totp.key')),
    isPanel: panel !== undefined,
    diskThread: DISK_THREAD,
    log,
    ...(panel && { onLost: panel.onLostDisk }),
  })
  return { store, inData }
}
