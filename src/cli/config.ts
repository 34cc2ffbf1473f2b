/** `ncp config …`: the settings that the panel would run with, and where each value comes from. */
import type { Command } from 'commander'
import type { ResolvedSetting } from '../config/load.ts'
import { type Config, schema } from '../config/schema.ts'
import { fileKeyOf } from '../config/setting.ts'
import { checkGivenCertificate } from '../tls/given.ts'
import { configOf, settingsOf, withSettings } from './flags.ts'
import { print, printJson } from './output.ts'
import { printList } from './table.ts'

const ALL = Object.keys(schema) as (keyof Config)[]

export function addConfig(program: Command): void {
  const config = program.command('config').description('show and check the settings')

  withSettings(config.command('show'), ALL)
    .description('print every setting with its value and where it comes from; secrets are hidden')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }, command: Command) => {
      const settings = await settingsOf(command)
      if (json) printJson(Object.fromEntries(settings.map((setting) => [nameOf(setting), toJson(setting)])))
      else
        printList({
          rows: settings,
          json,
          toJson,
          fields: (setting) => [nameOf(setting), shown(setting), setting.origin],
          columns: { SETTING: nameOf, VALUE: shown, FROM: ({ origin }) => origin },
          empty: '',
        })
    })

  withSettings(config.command('validate'), ALL)
    .description('list every mistake in the settings that would keep the panel from starting')
    .action(async (_: unknown, command: Command) => {
      checkGivenCertificate(await configOf(command))
      print('the configuration is valid')
    })
}

function nameOf({ key }: ResolvedSetting): string {
  return fileKeyOf(schema[key])
}

function toJson({ key, value, origin }: ResolvedSetting) {
  return schema[key].secret ? { hidden: value !== undefined, origin } : { value: value ?? null, origin }
}

function shown({ key, value }: ResolvedSetting): string {
  if (value === undefined || `${value}` === '') return '-'
  return schema[key].secret ? '(hidden)' : `${value}`
}
