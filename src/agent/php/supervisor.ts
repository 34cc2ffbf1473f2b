/** Puts a master of PHP-FPM into the slice of its subscription, where systemd supervises. */
import { existsSync } from 'node:fs'
import type { MasterSpec } from './pool.ts'

/** There where systemd has started the machine: sd_booted(3). */
const SYSTEMD = '/run/systemd/system'
/** For the master, and for what scripts start. */
const SPARE_MEGABYTES = 128
const MAX_TASKS = 512

export type SupervisorOf = (spec: MasterSpec) => readonly string[]

/**
 * What to put before the command of a master; nothing without systemd.
 *
 * A scope is started by the caller: the sockets are inherited, and the process stays this one's child. It goes on when the
 * agent is restarted, since it is in no group of the agent's.
 */
export function createSupervisor(hasSystemd = existsSync(SYSTEMD)): SupervisorOf {
  if (!hasSystemd) return () => []
  let count = 0
  return ({ subscriptionId, version, limits }) => [
    ...['/usr/bin/systemd-run', '--scope', '--quiet', '--collect'],
    // The one that it replaces still runs.
    `--unit=ncp-php-s${subscriptionId}-${version}-${process.pid}-${++count}`,
    `--slice=ncp-s${subscriptionId}.slice`,
    `--description=PHP ${version} of subscription ${subscriptionId}`,
    `--property=MemoryMax=${SPARE_MEGABYTES + limits.workers * limits.memoryMb}M`,
    `--property=TasksMax=${MAX_TASKS}`,
    '--property=CPUWeight=100',
    '--',
  ]
}
