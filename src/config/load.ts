/** Reads the configuration: default < file < environment < flag. The only file that reads the environment. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { type ConfigFile, readConfigFile } from './file.ts'
import { withLabels } from './labels.ts'
import { contradictions, inOrder, unknownKeys, unknownVariables } from './mistakes.ts'
import { type Environment, placesOf, unreadable } from './places.ts'
import { type Config, schema } from './schema.ts'
import type { Setting } from './setting.ts'

/** Values of the command line by key; text is read as the environment's is. */
export type Flags = Partial<Record<keyof Config, string | boolean | undefined>>

/** The file that is read where no other is named, if it is there. */
const DEFAULT_FILE = '/etc/ncp/ncp.toml'

export type ResolvedSetting = {
  key: keyof Config
  value: unknown
  /** The flag, the variable, the file with its line, or `default`. */
  origin: string
  /** What a complaint about it begins with; undefined for the default. */
  label?: string | undefined
  /** Of the configuration file, where that gave it. */
  line?: number | undefined
}

/** Everything that is wrong with the configuration, at once. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
  }
}

/**
 * @param path the file that the command line names
 * @returns undefined where none is named and the default one is not there
 * @throws ConfigError when it cannot be read
 */
export async function findConfigFile(
  path: string | undefined,
  environment: Environment = process.env,
): Promise<ConfigFile | undefined> {
  const [named, origin] = path === undefined ? [environment.NCP_CONFIG, 'NCP_CONFIG'] : [path, '--config']
  if (named === undefined && !existsSync(DEFAULT_FILE)) return undefined
  const file = named ?? DEFAULT_FILE
  try {
    return await readConfigFile(file)
  } catch (error) {
    throw new ConfigError([`${named === undefined ? 'configuration' : origin}: ${unreadable(file, error)}`])
  }
}

/** @throws ConfigError that names each setting, where it was given, and its rule */
export function loadConfig(flags: Flags = {}, environment: Environment = process.env, file?: ConfigFile): Config {
  return configOf(resolveSettings(flags, environment, file))
}

/**
 * All settings, each with the place that decided it.
 *
 * @throws ConfigError that names each setting, where it was given, and its rule
 */
export function resolveSettings(
  flags: Flags = {},
  environment: Environment = process.env,
  file?: ConfigFile,
): ResolvedSetting[] {
  const mistakes = [...unknownVariables(environment), ...unknownKeys(file)]
  const resolved: ResolvedSetting[] = []
  for (const [key, setting] of Object.entries(schema) as [keyof Config, Setting<unknown>][]) {
    const places = placesOf(setting, flags[key], environment, file)
    const [winner] = places
    if (setting.secret && places.length > 1) {
      // If a password is changed in only one of two places, it is unclear which one counts.
      const labels = places.map(({ label }) => label).join(' and ')
      mistakes.push({ text: `${labels}: set only one of them`, line: places.find(({ line }) => line)?.line })
      continue
    }
    try {
      const value = winner ? setting.parse(winner.read()) : setting.default
      resolved.push({ key, value, origin: winner?.origin ?? 'default', label: winner?.label, line: winner?.line })
    } catch (error) {
      mistakes.push({ text: `${winner?.label}: ${(error as Error).message}`, line: winner?.line })
    }
  }
  mistakes.push(...contradictions(configOf(resolved), (key) => resolved.find((setting) => setting.key === key)?.line))
  if (mistakes.length > 0) throw new ConfigError(inOrder(mistakes))
  return resolved
}

/** What tells a command of the client which panel it talks to. An empty variable, as CI has for a missing secret, is none. */
export function readClientEnvironment(environment: Environment = process.env) {
  const { NCP_URL, NCP_KEY, NCP_KEY_FILE, NCP_FINGERPRINT, XDG_CONFIG_HOME = '' } = environment
  return {
    url: NCP_URL || undefined,
    key: NCP_KEY || undefined,
    keyFile: NCP_KEY_FILE || undefined,
    fingerprint: NCP_FINGERPRINT || undefined,
    // XDG Base Directory Specification: a relative path is to be ignored.
    configHome: isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(homedir(), '.config'),
  }
}

/** What a service manager tells the processes that it starts (sd_notify(3), sd_watchdog_enabled(3)). */
export function readServiceManager(environment: Environment = process.env): {
  /** The address of the manager's socket. */
  notifySocket: string | undefined
  /** After this long without a sign of life the manager ends the panel. */
  watchdogMs: number | undefined
} {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = environment
  const isMeant = WATCHDOG_PID === undefined || WATCHDOG_PID === `${process.pid}`
  const watchdogMs = isMeant && /^[1-9]\d{0,15}$/.test(WATCHDOG_USEC ?? '') ? Number(WATCHDOG_USEC) / 1000 : undefined
  return { notifySocket: NOTIFY_SOCKET || undefined, watchdogMs }
}

/** @param resolved all settings, or fewer where some broke their rules */
function configOf(resolved: readonly ResolvedSetting[]): Config {
  const config = Object.fromEntries(resolved.map(({ key, value }) => [key, value])) as unknown as Config
  const labels = resolved.flatMap(({ key, label }) => (label === undefined ? [] : [[key, label]]))
  return withLabels(config, Object.fromEntries(labels))
}
