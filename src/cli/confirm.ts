/** Asks for confirmation before something that cannot be undone. */
import type { Command } from 'commander'
import { printable } from '../core/printable.ts'

export type Question = {
  /** What would be done, as a question. */
  ask: string
  /** `--yes` was given. */
  yes: true | undefined
  /** Whether data is lost for good: then a script has to say `--yes`. */
  losesData?: boolean
}

/** Thrown when the answer is no. */
export class Declined extends Error {
  constructor() {
    super('nothing was changed')
    this.name = 'Declined'
  }
}

/** Adds the option that answers the question. */
export function withYes(command: Command): Command {
  return command.option('--yes', 'do not ask for confirmation')
}

/**
 * Returns when the operator agrees, or where there is no terminal to ask on and nothing would be lost for good.
 *
 * @throws Declined, or the usage error of a script that did not say `--yes`
 */
export async function confirm(command: Command, { ask, yes, losesData = false }: Question): Promise<void> {
  if (yes) return
  if (process.stdin.isTTY && process.stderr.isTTY) {
    const { confirm: promptYesOrNo } = await import('@clack/prompts')
    // On standard error: with --json, standard output holds the document alone.
    const answer = await promptYesOrNo({ message: printable(ask), initialValue: false, output: process.stderr })
    if (answer !== true) throw new Declined()
  } else if (losesData) {
    command.error('error: this deletes data permanently; without a terminal to confirm on, add --yes')
  }
}
