/** The socket through which a node on this machine reaches the panel, without an address and without a certificate. */
import { rmSync } from 'node:fs'
import type { Fetch } from '../http/gate.ts'
import type { Log } from '../log/log.ts'
import { openListener } from '../tls/listener.ts'
import type { Stoppable } from './together.ts'

/** Kept from others even before the directory around it keeps them out. */
const UMASK = 0o117

/**
 * Nobody depends on it who has no node here: where it cannot be opened, that is logged, and the panel serves.
 *
 * @param path in the data directory, which the caller holds alone: what is there was left by a process that has ended
 */
export function openNodeSocket(fetch: Fetch, path: string, log: Log): Stoppable | undefined {
  const umask = process.umask(UMASK)
  try {
    rmSync(path, { force: true })
    return openListener(fetch, { unix: path, host: undefined, port: 0, tls: undefined, handsOver: false })
  } catch (err) {
    log.warn({ err }, 'the socket for a node on this machine could not be opened')
    return undefined
  } finally {
    process.umask(umask)
  }
}
