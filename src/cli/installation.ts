/** Opens the installation that a command works on, while a panel may be running on it. */
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { labelOf } from '../config/labels.ts'
import { ConfigError } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { dataPaths } from '../data-directory.ts'
import type { User } from '../features/account/users/users.ts'
import { openPanel, type Panel } from '../panel.ts'
import { becomeOwnerOf } from '../system/owner.ts'
import { configOf } from './flags.ts'
import { openLog } from './open-log.ts'

/** @throws ConfigError where no panel was ever started: a mistyped directory must not become a new, empty one */
export function installed(config: Config): Config {
  // In the middle of a restore there is no database: a command that opens the directory gets an error that says so.
  const { database, restoreMark } = dataPaths(config.data)
  if (existsSync(database) || existsSync(restoreMark)) return config
  throw new ConfigError([`${labelOf(config, 'data')}: there is no panel in ${config.data}; 'ncp serve' creates one`])
}

/**
 * The settings of a command that works in the data directory. From here on root is the owner of that directory: a compromised
 * panel could have put a link there, and root would follow it.
 */
export async function configAsOwner(command: Command): Promise<Config> {
  const config = await configOf(command)
  becomeOwnerOf(config.data)
  return config
}

/** Opens the existing installation that the command's settings name, for the time of `work`. */
export async function onInstallation(command: Command, work: (panel: Panel) => Promise<void>): Promise<void> {
  await withPanel(installed(await configAsOwner(command)), work)
}

/** Opens a data directory, creating it where needed, for the time of `work`. @param config from `configAsOwner` */
export async function withPanel(config: Config, work: (panel: Panel) => Promise<void>): Promise<void> {
  const panel = await openPanel({ config, clock: systemClock, log: openLog(config).log })
  try {
    await work(panel)
  } finally {
    await panel.close()
  }
}

/** @throws AppError `not_found` */
export async function userByEmail({ users }: Panel, email: string): Promise<User> {
  const found = await users.findByEmail(email)
  if (!found) throw new AppError('not_found', `no user has the email ${email}`)
  return found
}
