/** `ncp unpack`: the child process that unpacks a deployment, without configuration or environment. Not for people: no help lists it. */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import type { Limits } from '../unpack/limits.ts'
import { type LinkRule, linkRules, unpackHere } from '../unpack/unpack.ts'
import { exitCode } from './exit.ts'
import { flushed, ignoreClosedOutput, printJson } from './output.ts'

type Options = Limits & { links: LinkRule }

const STANDARD_INPUT = 0

/**
 * @param args with `unpack` as the first
 * @returns the exit code of a wrong command line; otherwise it ends the process
 */
export async function run(args: readonly string[]): Promise<number> {
  ignoreClosedOutput()
  const command = new Command('ncp unpack')
    .description('unpack the archive on standard input into the working directory, which must be empty')
    .requiredOption('--max-bytes <number>', 'most bytes of all files together', readCount)
    .requiredOption('--max-files <number>', 'most files and folders', readCount)
    .requiredOption('--max-seconds <number>', 'most time', readCount)
    .addOption(new Option('--links <rule>', 'what becomes of symbolic links').choices(linkRules).makeOptionMandatory())
    .exitOverride()
  try {
    command.parse(args.slice(1), { from: 'user' })
  } catch (error) {
    // Commander has already said what is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage
    throw error
  }
  const { links, ...limits } = command.opts<Options>()
  const result = await unpackHere({ archive: STANDARD_INPUT, limits, links })
  printJson(result)
  await flushed()
  // An archive that stops in the middle must not keep the process alive.
  process.exit(result.ok ? exitCode.done : exitCode.failed)
}

function readCount(text: string): number {
  const number = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(number)) {
    throw new InvalidArgumentError('It must be a whole number from 1.')
  }
  return number
}
