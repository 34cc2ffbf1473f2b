/** Unpacks an archive as the user of its subscription, who can do no more than with files of his own. */
import type { ReleaseLimits } from '../node/protocol.ts'
import { PROGRAM } from '../threads.ts'
import type { Limits } from '../unpack/limits.ts'
import { type RunResult, unpack } from '../unpack/run.ts'
import { DIES_WITH_AGENT } from './command.ts'
import { uidOf } from './layout.ts'

const MEBIBYTE = 1024 * 1024
/** Unless the panel says otherwise. */
const DEFAULTS: Limits = { maxBytes: 2048 * MEBIBYTE, maxFiles: 100_000, maxSeconds: 300 }
/** Its threads are counted, and whatever else the user runs. */
const MAX_PROCESSES = 1024
const MAX_OPEN_FILES = 256

type UnpackOptions = {
  subscriptionId: number
  archive: number
  release: string
  limits: ReleaseLimits | undefined
  signal: AbortSignal
}

export function unpackAsUser({
  subscriptionId,
  archive,
  release,
  signal,
  ...options
}: UnpackOptions): Promise<RunResult> {
  const id = uidOf(subscriptionId)
  const limits = { ...DEFAULTS, ...options.limits }
  return unpack({
    archive,
    release,
    limits,
    links: 'inside',
    signal,
    program: [
      ...(['/usr/bin/prlimit', '--core=0'] as const),
      `--fsize=${limits.maxBytes}`,
      `--cpu=${limits.maxSeconds}`,
      `--nofile=${MAX_OPEN_FILES}`,
      `--nproc=${MAX_PROCESSES}`,
      // Its bounding set needs a right of the agent's to be emptied, and means nothing without new privileges.
      ...[...DIES_WITH_AGENT, `--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--no-new-privs', '--inh-caps=-all'],
      ...PROGRAM,
    ],
  })
}
