/** Unpacks an archive as the user of its subscription, who can do no more than with files of his own. */
import { PROGRAM } from '../threads.ts'
import type { Limits } from '../unpack/limits.ts'
import { type RunResult, unpack } from '../unpack/run.ts'
import { uidOf } from './layout.ts'

const MEBIBYTE = 1024 * 1024
/** As the panel has them. */
const LIMITS: Limits = { maxBytes: 2048 * MEBIBYTE, maxFiles: 100_000, maxSeconds: 300 }
/** Its threads are counted, and whatever else the user runs. */
const MAX_PROCESSES = 1024
const MAX_OPEN_FILES = 256

type UnpackOptions = { subscriptionId: number; archive: number; release: string; signal: AbortSignal }

export function unpackAsUser({ subscriptionId, archive, release, signal }: UnpackOptions): Promise<RunResult> {
  const id = uidOf(subscriptionId)
  return unpack({
    archive,
    release,
    limits: LIMITS,
    links: 'inside',
    signal,
    program: [
      ...(['/usr/bin/prlimit', '--core=0'] as const),
      `--fsize=${LIMITS.maxBytes}`,
      `--cpu=${LIMITS.maxSeconds}`,
      `--nofile=${MAX_OPEN_FILES}`,
      `--nproc=${MAX_PROCESSES}`,
      // Its bounding set needs a right of the agent's to be emptied, and means nothing without new privileges.
      ...['/usr/bin/setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--no-new-privs', '--inh-caps=-all'],
      ...PROGRAM,
    ],
  })
}
