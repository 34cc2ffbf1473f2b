/** The commands as data, from which completions and the manual page are made. */
import type { Argument, Command, Option } from 'commander'

export type CommandNode = {
  /** Without the program's name: `user create`; empty for the program itself. */
  path: string
  usage: string
  description: string
  arguments: readonly Argument[]
  options: readonly Option[]
  /** The names of the next word. */
  subcommands: readonly { name: string; description: string }[]
}

/** All commands, each before those below it. */
export function commandTree(program: Command): CommandNode[] {
  const below = (command: Command, path: string): CommandNode[] => {
    const help = command.createHelp()
    const visible = help.visibleCommands(command).filter((next) => next.name() !== 'help')
    const node: CommandNode = {
      path,
      usage: help.commandUsage(command),
      description: command.description(),
      arguments: command.registeredArguments,
      options: help.visibleOptions(command),
      subcommands: visible.map((next) => ({ name: next.name(), description: next.description() })),
    }
    return [node, ...visible.flatMap((next) => below(next, `${path} ${next.name()}`.trim()))]
  }
  return below(program, '')
}

/** What stands behind an option: nothing, one of some words, a file, a directory, or any text. */
export type ValueKind = 'none' | 'choice' | 'file' | 'directory' | 'text'

export function valueKindOf({ flags, argChoices, required, optional }: Option): ValueKind {
  if (!required && !optional) return 'none'
  if (argChoices) return 'choice'
  if (flags.endsWith('<file>')) return 'file'
  return flags.endsWith('<dir>') ? 'directory' : 'text'
}
