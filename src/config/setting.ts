/** What is said of a setting, and how it is spelled in the environment, in the file and as a flag. */

export type Setting<Value> = {
  /** The environment variable. */
  env: string
  /** The command-line flag of `serve`, where there is one. */
  flag?: string
  /** What the configuration file takes; a list is an array of texts. Everywhere else it is text. */
  type: 'text' | 'number' | 'boolean' | 'list'
  /** Never shown, and in no argument and no configuration file: it has a variable, or a file of its own. */
  secret?: true
  default: Value
  /** @throws Error that says what the text must be */
  parse(text: string): Value
  help: string
  /** Of the flag, where that says the opposite: `--no-tls`. */
  flagHelp?: string
}

/**
 * One name, three spellings: `NCP_LIMIT_LOGIN` in the environment is `limit_login` in the file, and a flag, where
 * there is one, is `--limit-login`.
 */
export function fileKeyOf({ env }: { env: string }): string {
  return env.slice('NCP_'.length).toLowerCase()
}
