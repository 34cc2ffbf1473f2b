/** Reads the configuration: default < file < environment < flag. The only file that reads the environment. */
import { existsSync } from 'node:fs'
import { type ConfigFile, readConfigFile } from './file.ts'
import { type Environment, placesOf, unreadable } from './places.ts'
import { type Config, fileKeyOf, type Setting, schema } from './schema.ts'

/** Values of the command line by key; text is read as the environment's is. */
export type Flags = Partial<Record<keyof Config, string | boolean | undefined>>

/** The file that is read where no other is named, if it is there. */
const DEFAULT_FILE = '/etc/ncp/ncp.toml'

export type ResolvedSetting = { key: keyof Config; value: unknown; origin: string }

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
 * @throws ConfigError when it can't be read
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
  const problems = [...unknownVariables(environment), ...unknownKeys(file)]
  const resolved: ResolvedSetting[] = []
  for (const [key, setting] of Object.entries(schema) as [keyof Config, Setting<unknown>][]) {
    const places = placesOf(setting, flags[key], environment, file)
    const [winner] = places
    if (setting.secret && places.length > 1) {
      // Of a password that is changed in one place and not in the other, nobody would know which one counts.
      problems.push(`${places.map(({ label }) => label).join(' and ')}: give only one of them`)
      continue
    }
    try {
      const value = winner ? setting.parse(winner.read()) : setting.default
      resolved.push({ key, value, origin: winner?.origin ?? 'default' })
    } catch (error) {
      problems.push(`${winner?.label}: ${(error as Error).message}`)
    }
  }
  problems.push(...contradictions(configOf(resolved)))
  if (problems.length > 0) throw new ConfigError(problems)
  return resolved
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
  return Object.fromEntries(resolved.map(({ key, value }) => [key, value])) as unknown as Config
}

/** A mistyped variable must not leave a limit at its default unnoticed. */
function unknownVariables(environment: Environment): string[] {
  const known = new Set(Object.values(schema).flatMap(({ env, secret }) => (secret ? [env, `${env}_FILE`] : [env])))
  return Object.keys(environment)
    .filter((name) => name.startsWith('NCP_') && name !== 'NCP_CONFIG' && !known.has(name))
    .map((name) => `${name}: is not a known setting`)
}

function unknownKeys(file: ConfigFile | undefined): string[] {
  if (!file) return []
  const settings = Object.values(schema) as Setting<unknown>[]
  const known = new Set(settings.map((setting) => fileKeyOf(setting) + (setting.secret ? '_file' : '')))
  const secrets = new Set(settings.filter((setting) => setting.secret).map(fileKeyOf))
  const problems = file.problem === undefined ? [] : [file.problem]
  for (const [key, { line }] of file.entries) {
    if (known.has(key)) continue
    const rule = secrets.has(key)
      ? `is a secret; write it into a file of its own, and the path of that to ${key}_file`
      : 'is not a known setting'
    problems.push(`${file.path}:${line}: ${key}: ${rule}`)
  }
  return problems
}

function contradictions(config: Config): string[] {
  const { tlsCert, tlsKey } = config
  const problems: string[] = []
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    problems.push('--tls-cert and --tls-key: give both or neither')
  }
  const { acmeDomains, tls } = config
  if (acmeDomains?.length > 0 && (tlsCert !== undefined || tls === false)) {
    problems.push('NCP_ACME_DOMAINS: asks for a certificate, where --tls-cert gives one or --no-tls wants none')
  }
  for (const key of ['mailFrom', 'publicUrl'] as const) {
    // A value that broke its own rule is not there at all, and has been named already.
    const isMissing = key in config && config[key] === undefined
    if (config.mailServer && isMissing) problems.push(`${schema[key].env}: is required with NCP_SMTP_URL`)
  }
  return problems
}
