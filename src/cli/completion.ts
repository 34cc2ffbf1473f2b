/** `ncp completion …`: a shell script that completes commands, options and values, made from their definitions. */
import { Argument, type Command, type Option } from 'commander'
import { type CommandNode, commandTree, valueKindOf } from './command-tree.ts'
import { printDocument } from './output.ts'

const SHELLS = { bash, zsh, fish }
type Shell = keyof typeof SHELLS

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .action((shell: Shell) => {
      printDocument(SHELLS[shell](commandTree(program)))
    })
}

function bash(tree: CommandNode[]): string {
  const commands = tree.filter(({ path }) => path !== '').map(({ path }) => `      "${path}") at=$next ;;`)
  const values = tree.flatMap(({ path, options }) =>
    options.flatMap((option) => {
      const reply = bashValue(option)
      return option.long && reply !== undefined ? [`    "${path} ${option.long}") ${reply}; return ;;`] : []
    }),
  )
  const words = tree.map((node) => {
    const files = takesFile(node) ? ' files=yes' : ''
    return `    "${node.path}") words="${wordsAfter(node).join(' ')}"${files} ;;`
  })
  return `# Completion of ncp for bash. Save it as /usr/share/bash-completion/completions/ncp, or: source <(ncp completion bash)
_ncp_names() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen "$1" -- "$cur"))
}
_ncp() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at='' next='' words='' files='' word
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    next="\${at:+$at }$word"
    case "$next" in
${commands.join('\n')}
    esac
  done
  case "$at $prev" in
${values.join('\n')}
  esac
  case "$at" in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ $files == yes && $cur != -* ]]; then _ncp_names -f; fi
}
complete -F _ncp ncp
`
}

/** @returns undefined where no value follows */
function bashValue(option: Option): string | undefined {
  switch (valueKindOf(option)) {
    case 'none':
      return undefined
    case 'choice':
      return `COMPREPLY=($(compgen -W "${option.argChoices?.join(' ')}" -- "$cur"))`
    case 'file':
      return '_ncp_names -f'
    case 'directory':
      return '_ncp_names -d'
    case 'text':
      return 'COMPREPLY=()'
  }
}

/** zsh runs the completions of bash. */
function zsh(tree: CommandNode[]): string {
  const head = '# Completion of ncp for zsh. Add this line to ~/.zshrc: source <(ncp completion zsh)'
  return `${head}\nautoload -U +X bashcompinit && bashcompinit\n${bash(tree).split('\n').slice(1).join('\n')}`
}

function fish(tree: CommandNode[]): string {
  const lines = tree.flatMap(({ path, options, subcommands, ...node }) => {
    const at = `complete -c ncp -n '__fish_ncp_at ${path || '""'}'`
    const choices = node.arguments.flatMap(({ argChoices = [] }) => argChoices)
    return [
      ...subcommands.map(({ name, description }) => `${at} -a ${name} -d ${quoted(description)}`),
      ...(takesFile(node) ? [`${at} -F`] : []),
      ...choices.map((choice) => `${at} -a ${choice}`),
      ...options.map((option) => `${at} ${fishOption(option)} -d ${quoted(option.description)}`),
    ]
  })
  const paths = tree.filter(({ path }) => path !== '').map(({ path }) => quoted(path))
  return `# Completion of ncp for fish. Save it as ~/.config/fish/completions/ncp.fish
function __fish_ncp_at
    set -l at ''
    for word in (commandline -opc)[2..]
        set -l next (string trim "$at $word")
        contains -- $next ${paths.join(' ')}; and set at $next
    end
    test "$at" = "$argv"
end
complete -c ncp -f
${lines.join('\n')}
`
}

function fishOption(option: Option): string {
  const name = `-l ${option.long?.slice(2)}`
  switch (valueKindOf(option)) {
    case 'none':
      return name
    case 'choice':
      return `${name} -x -a ${quoted(option.argChoices?.join(' ') ?? '')}`
    case 'file':
      return `${name} -r -F`
    case 'directory':
      return `${name} -x -a '(__fish_complete_directories)'`
    case 'text':
      return `${name} -x`
  }
}

function wordsAfter({ subcommands, options, ...node }: CommandNode): string[] {
  return [
    ...subcommands.map(({ name }) => name),
    ...node.arguments.flatMap(({ argChoices = [] }) => argChoices),
    ...options.flatMap(({ long }) => long ?? []),
  ]
}

function takesFile(node: Pick<CommandNode, 'arguments'>): boolean {
  return node.arguments.some((argument) => argument.name() === 'file')
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`
}
