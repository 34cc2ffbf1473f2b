/** Puts a master of PHP-FPM into the slice of its subscription, where systemd supervises. */
import { existsSync } from 'node:fs'
import type { Log } from '../../log/log.ts'
import { command } from '../command.ts'
import type { MasterSpec } from './pool.ts'

/** There where systemd has started the machine: sd_booted(3). */
const SYSTEMD = '/run/systemd/system'
const PROGRAM = '/usr/bin/systemd-run'
/** For the master, and for what scripts start. */
const SPARE_MEGABYTES = 128
const MAX_TASKS = 512

/** What to put before the command of a master. */
export type SupervisorOf = (spec: MasterSpec) => readonly string[]

/**
 * @param hasSystemd whether scopes are tried at all
 * @returns scopes, if systemd lets this process make one; otherwise nothing, and masters are children of this process alone
 */
export async function findSupervisor(log: Log, hasSystemd = existsSync(SYSTEMD)): Promise<SupervisorOf> {
  if (!hasSystemd) return () => []
  const refused = await refusalOfScope()
  if (refused === undefined) return createScopes()
  log.warn(
    { detail: refused },
    'systemd makes no scopes for PHP: the memory of a subscription is not limited as a whole',
  )
  return () => []
}

/**
 * A scope is started by the caller: the sockets are inherited, and the process stays this one's child. It goes on when the
 * agent is restarted, since it is in no group of the agent's.
 */
export function createScopes(): SupervisorOf {
  let count = 0
  return ({ subscriptionId, version, limits }) => [
    ...[PROGRAM, '--scope', '--quiet', '--collect'],
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

/** systemd asks for a right that the agent may not have. @returns what it says; undefined where it makes one */
async function refusalOfScope(): Promise<string | undefined> {
  const options = ['--scope', '--quiet', '--collect', `--unit=ncp-php-probe-${process.pid}`, '--slice=ncp.slice']
  try {
    await command(PROGRAM, ...options, '--', '/bin/true')
    return undefined
  } catch (error) {
    return String(error)
  }
}
