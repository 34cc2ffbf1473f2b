/** `ncp man`: the manual page, made from the definitions of the commands and of the settings. */
import type { Command } from 'commander'
import { version } from '../../package.json' with { type: 'json' }
import { schema } from '../config/schema.ts'
import { fileKeyOf, type Setting } from '../config/setting.ts'
import { type CommandNode, commandTree } from './command-tree.ts'
import { printDocument } from './output.ts'

const EXIT_STATUS = [
  ['0', 'done'],
  ['1', 'failed'],
  ['2', 'invalid command line'],
  ['3', 'invalid configuration'],
  ['4', 'the disk lost data that was written to it; the log says what to do'],
  ['5', 'login, deploy, sites, logs: the panel refused'],
  ['6', 'deploy: the deployment failed; the site serves what it served before'],
  ['7', 'deploy: the site does not serve it yet; the panel goes on'],
  ['8', 'login, deploy, sites, logs: the panel cannot be reached, or is busy'],
] as const

const SIGNALS = [
  [
    'SIGTERM, SIGINT',
    'stop: finish the requests in flight and write what is in memory; a second signal cuts the requests off',
  ],
  ['SIGHUP', 'reload the certificate and the log level, and reopen the log file'],
] as const

const FILES = [
  ['/etc/ncp/ncp.toml', 'settings, unless --config or NCP_CONFIG names another file'],
  ['/var/lib/ncp', 'data of a panel that systemd runs'],
  ['~/.config/ncp/profiles.toml', 'panels and API keys that ncp login has saved'],
] as const

export function addManual(program: Command): void {
  program
    .command('man')
    .description('print the manual page; to read it: ncp man | man -l -')
    .action(() => {
      printDocument(manual(commandTree(program)))
    })
}

function manual(tree: CommandNode[]): string {
  const [program, ...commands] = tree
  const leaves = commands.filter(({ subcommands }) => subcommands.length === 0)
  const settings = (Object.values(schema) as Setting<unknown>[]).map((setting) => {
    const names = `${setting.env}${setting.secret ? `, ${setting.env}_FILE` : ''}, ${fileKeyOf(setting)}`
    return [setting.secret ? `${names}_file` : names, setting.help] as const
  })
  return [
    `.TH NCP 1 "" "ncp ${text(version)}" "User Commands"`,
    '.SH NAME',
    `ncp \\- ${text(program?.description ?? '')}`,
    '.SH SYNOPSIS',
    '.B ncp',
    '.I command',
    '.RI [ options ]',
    '.SH COMMANDS',
    ...leaves.flatMap(commandSection),
    '.SH SETTINGS',
    'Each setting is listed as its environment variable and its key in the configuration file.',
    'A flag overrides the environment, the environment overrides the file, the file overrides the default.',
    ...definitions(settings),
    '.SH SIGNALS',
    ...definitions(SIGNALS),
    '.SH FILES',
    ...definitions(FILES),
    '.SH EXIT STATUS',
    ...definitions(EXIT_STATUS),
    '',
  ].join('\n')
}

function commandSection({ usage, description, options }: CommandNode): string[] {
  const rows = options
    .filter(({ long }) => long !== '--help')
    .map((option) => [option.flags, option.description] as const)
  return [`.SS ${text(usage)}`, text(sentence(description)), ...definitions(rows)]
}

function definitions(rows: readonly (readonly [string, string])[]): string[] {
  return rows.flatMap(([term, meaning]) => ['.TP', `.B ${text(term)}`, text(sentence(meaning))])
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
}

/** As roff takes it: hyphens that can be copied, and no line that begins like a command. */
function text(words: string): string {
  return words.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^[.']/, '\\&$&')
}
