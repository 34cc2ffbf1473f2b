/** Flags made from the settings, so that help and configuration always agree. */
import { type Command, Option } from 'commander'
import { type Flags, findConfigFile, loadConfig, type ResolvedSetting, resolveSettings } from '../config/load.ts'
import { type Config, schema } from '../config/schema.ts'
import type { Setting } from '../config/setting.ts'

/** Adds the flag of each named setting to a command, and the one that names the configuration file. */
export function withSettings(command: Command, keys: readonly (keyof Config)[]): Command {
  for (const key of keys) {
    const { flag, env, help, flagHelp } = schema[key] as Setting<unknown>
    // In brackets the variable that says the same.
    if (flag) command.addOption(new Option(flag, flagHelp ? `${flagHelp} [${env}=false]` : `${help} [${env}]`))
  }
  return command.option('--config <file>', 'configuration file (default: /etc/ncp/ncp.toml, if it exists) [NCP_CONFIG]')
}

/** @throws ConfigError */
export async function configOf(command: Command): Promise<Config> {
  return loadConfig(flagsOf(command), undefined, await fileOf(command))
}

/** @throws ConfigError */
export async function settingsOf(command: Command): Promise<ResolvedSetting[]> {
  return resolveSettings(flagsOf(command), undefined, await fileOf(command))
}

function fileOf(command: Command) {
  return findConfigFile(command.opts<{ config?: string }>().config)
}

function flagsOf(command: Command): Flags {
  const given: Flags = {}
  for (const [name, value] of Object.entries(command.optsWithGlobals())) {
    // Commander invents a value for a `--no-` flag that was not given; the environment may still have one.
    if (name in schema && command.getOptionValueSourceWithGlobals(name) === 'cli') given[name as keyof Config] = value
  }
  return given
}
