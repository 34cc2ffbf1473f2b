/** Reads the configuration: default < environment < flag. The only file that reads the environment. */

import { isEmailAddress } from '../core/email.ts'
import { parseRanges } from '../limiter/address.ts'
import { type Config, type Setting, schema } from './schema.ts'

/** Everything that is wrong with the configuration, at once. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigError'
  }
}

/**
 * @param flags values of the command line by key; text is read as the environment's is
 * @throws ConfigError that names each setting and its rule
 */
export function loadConfig(
  flags: Partial<Record<keyof Config, string | boolean | undefined>> = {},
  environment: Record<string, string | undefined> = process.env,
): Config {
  const problems = unknownVariables(environment)
  const values: Record<string, unknown> = {}
  for (const [key, setting] of Object.entries(schema) as [keyof Config, Setting<unknown>][]) {
    const flag = flags[key]
    const [text, origin] =
      flag === undefined ? [environment[setting.env], setting.env] : [`${flag}`, setting.flag ?? setting.env]
    try {
      values[key] = text === undefined ? setting.default : setting.parse(text)
    } catch (error) {
      problems.push(`${origin}: ${(error as Error).message}`)
    }
  }
  const config = values as Config
  problems.push(...contradictions(config))
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/** A mistyped variable must not leave a limit at its default unnoticed. */
function unknownVariables(environment: Record<string, string | undefined>): string[] {
  const known = new Set(Object.values(schema).map(({ env }) => env))
  return Object.keys(environment)
    .filter((name) => name.startsWith('NCP_') && !known.has(name))
    .map((name) => `${name}: is not a known setting`)
}

function contradictions(config: Config): string[] {
  const { tlsCert, tlsKey, trustedProxies, adminEmail } = config
  const problems: string[] = []
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    problems.push('--tls-cert and --tls-key: give both or neither')
  }
  if (adminEmail !== undefined && !isEmailAddress(adminEmail))
    problems.push('NCP_ADMIN_EMAIL: must be an email address')
  for (const key of ['mailFrom', 'publicUrl'] as const) {
    // A value that broke its own rule is not there at all, and has been named already.
    const isMissing = key in config && config[key] === undefined
    if (config.mailServer && isMissing) problems.push(`${schema[key].env}: is required with NCP_SMTP_URL`)
  }
  try {
    parseRanges(trustedProxies ?? [])
  } catch {
    problems.push('NCP_TRUSTED_PROXIES: must be addresses or CIDR ranges, separated by commas')
  }
  return problems
}
