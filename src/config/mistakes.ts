/** Mistakes in a configuration as a whole: unknown names, and values that contradict each other. */
import { nearest } from '../core/nearest.ts'
import type { ConfigFile } from './file.ts'
import { labelOf } from './labels.ts'
import { lacksMetricsToken } from './metrics.ts'
import type { Environment } from './places.ts'
import { type Config, schema } from './schema.ts'
import { fileKeyOf, type Setting } from './setting.ts'

export type Mistake = {
  text: string
  /** In the configuration file; undefined for one in a variable or a flag. */
  line?: number | undefined
}

/** Variables and flags first, then the file from its top to its end, each mistake once. */
export function inOrder(mistakes: readonly Mistake[]): string[] {
  const sorted = mistakes.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
  return [...new Set(sorted.map(({ text }) => text))]
}

/** For the commands of the client; a shell that has them may run a panel too. */
const OF_CLIENT = ['NCP_URL', 'NCP_KEY', 'NCP_KEY_FILE', 'NCP_FINGERPRINT']

/** A mistyped variable must not leave a limit at its default unnoticed. */
export function unknownVariables(environment: Environment): Mistake[] {
  const known = Object.values(schema).flatMap(({ env, secret }) => (secret ? [env, `${env}_FILE`] : [env]))
  return Object.keys(environment)
    .filter((name) => name.startsWith('NCP_') && name !== 'NCP_CONFIG' && ![...known, ...OF_CLIENT].includes(name))
    .map((name) => ({ text: `${name}: is not a known setting${meant(name, known)}` }))
}

export function unknownKeys(file: ConfigFile | undefined): Mistake[] {
  if (!file) return []
  const settings = Object.values(schema) as Setting<unknown>[]
  const known = settings.map((setting) => fileKeyOf(setting) + (setting.secret ? '_file' : ''))
  const secrets = settings.filter((setting) => setting.secret).map(fileKeyOf)
  const problems = file.problem === undefined ? [] : [{ text: file.problem }]
  const unknown = [...file.entries].filter(([key, { isTable }]) => isTable || !known.includes(key))
  return [
    ...problems,
    ...unknown.map(([key, { line, isTable }]) => ({
      text: `${file.path}:${line}: ${isTable ? tableRule(key) : `${key}: ${keyRule(key, known, secrets)}`}`,
      line,
    })),
  ]
}

function keyRule(key: string, known: string[], secrets: string[]): string {
  if (secrets.includes(key)) {
    return `is a secret; put it in a file of its own, and set ${key}_file to the path of that file`
  }
  if (key.includes('.')) {
    const whole = [key.replaceAll('.', '_'), key.split('.').at(-1) ?? key].find((name) => known.includes(name))
    return `settings have no groups${whole === undefined ? '' : `; write ${whole}`}`
  }
  return `is not a known setting${meant(key, known)}`
}

function tableRule(key: string): string {
  return `[${key}]: settings have no groups; remove this line and use the full name of each setting (see ncp config show)`
}

function meant(name: string, known: string[]): string {
  const near = nearest(name, known)
  return near === undefined ? '' : `; did you mean ${near}?`
}

/**
 * @param config without the values that broke their own rules
 * @param lineOf the line of the configuration file that gave a setting
 */
export function contradictions(config: Partial<Config>, lineOf: (key: keyof Config) => number | undefined): Mistake[] {
  const mistakes: Mistake[] = []
  const add = (key: keyof Config, text: string) =>
    mistakes.push({ text: `${labelOf(config, key)}: ${text}`, line: lineOf(key) })
  const { tls, tlsCert, tlsKey, acmeDomains = [], mailServer, port, sitesPort, sitesTlsPort, host, sitesHost } = config
  // A value that broke its own rule is not there at all, and has been named already.
  const isMissing = (key: keyof Config) => key in config && config[key] === undefined
  if (tlsCert !== undefined && isMissing('tlsKey'))
    add('tlsCert', 'a certificate needs its key: set --tls-key (tls_key) too')
  if (tlsKey !== undefined && isMissing('tlsCert'))
    add('tlsKey', 'a key needs its certificate: set --tls-cert (tls_cert) too')
  if (tls === false && tlsCert !== undefined) {
    add('tls', `turns TLS off, but ${labelOf(config, 'tlsCert')} sets a certificate; remove one of them`)
  }
  if (sitesPort !== undefined && sitesPort !== 0 && sitesPort === port && sitesHost === host) {
    add('sitesPort', `is the port of the panel too, which ${labelOf(config, 'port')} sets; sites need one of their own`)
  }
  if (sitesTlsPort !== undefined && isMissing('sitesPort')) {
    add('sitesTlsPort', 'needs NCP_SITES_PORT (sites_port) too: names prove over HTTP that they lead here')
  }
  if (sitesTlsPort !== undefined && sitesTlsPort !== 0) {
    if (sitesTlsPort === sitesPort)
      add('sitesTlsPort', 'is the port of sites over HTTP too; HTTPS needs one of its own')
    if (sitesTlsPort === port && sitesHost === host) {
      add(
        'sitesTlsPort',
        `is the port of the panel too, which ${labelOf(config, 'port')} sets; sites need one of their own`,
      )
    }
  }
  if (acmeDomains.length > 0 && tls === false) {
    add(
      'acmeDomains',
      `requests a certificate from an authority, but ${labelOf(config, 'tls')} turns TLS off; remove one of them`,
    )
  }
  if (acmeDomains.length > 0 && tlsCert !== undefined) {
    add(
      'acmeDomains',
      `requests a certificate from an authority, but ${labelOf(config, 'tlsCert')} sets one; remove one of them`,
    )
  }
  for (const key of ['mailFrom', 'publicUrl'] as const) {
    if (mailServer && isMissing(key)) {
      add('mailServer', `to send emails, set ${schema[key].env} (${fileKeyOf(schema[key])}) too`)
    }
  }
  if (lacksMetricsToken(config)) {
    add(
      'metricsHost',
      'other machines can reach this address, so the metrics need a token: set NCP_METRICS_TOKEN_FILE, or use 127.0.0.1',
    )
  }
  return mistakes
}
