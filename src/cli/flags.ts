/** Flags that come from the settings, so that the help and the configuration say the same. */
import { type Command, Option } from 'commander'
import { loadConfig } from '../config/load.ts'
import { type Config, schema } from '../config/schema.ts'

type Flags = Partial<Record<keyof Config, string | boolean | undefined>>

/** Adds the flag of each named setting to a command. */
export function withSettings(command: Command, keys: readonly (keyof Config)[]): Command {
  for (const key of keys) {
    const { flag, env, help } = schema[key]
    if (flag) command.addOption(new Option(flag, `${help} [${env}]`))
  }
  return command
}

/** @throws ConfigError */
export function configOf(command: Command): Config {
  const given: Flags = {}
  for (const [name, value] of Object.entries(command.optsWithGlobals())) {
    // Commander invents a value for a `--no-` flag that was not given; the environment may still have one.
    if (name in schema && command.getOptionValueSourceWithGlobals(name) === 'cli') given[name as keyof Config] = value
  }
  return loadConfig(given)
}
