/** Remembers where each value was given, for errors that are found after reading. */
import { type Config, schema } from './schema.ts'
import type { Setting } from './setting.ts'

export type Labels = Partial<Record<keyof Config, string>>

/** Enumerable: a copy of a configuration, with another value somewhere, keeps it. */
const LABELS = Symbol('labels')

/** @param labels the file with its line and the key, the variable or the flag, of each value that was given */
export function withLabels(config: Config, labels: Labels): Config {
  return Object.assign(config, { [LABELS]: labels })
}

/** What a complaint about a setting begins with: the place that gave it, else the name that most people know it by. */
export function labelOf(config: object, key: keyof Config): string {
  return (config as { [LABELS]?: Labels })[LABELS]?.[key] ?? nameOf(schema[key])
}

export function nameOf({ flag, env }: Pick<Setting<unknown>, 'flag' | 'env'>): string {
  return flag?.split(' ')[0] ?? env
}
