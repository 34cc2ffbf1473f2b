/** The command line: which commands there are, and what their failures mean to a script. */
import { Command, CommanderError } from 'commander'
import { version } from '../../package.json' with { type: 'json' }
import { ConfigError } from '../config/load.ts'
import { addAudit } from './audit.ts'
import { addBackup } from './backup.ts'
import { addCert } from './cert.ts'
import { addCompletion } from './completion.ts'
import { addConfig } from './config.ts'
import { exitCode } from './exit.ts'
import { addHealth } from './health.ts'
import { addKey } from './key.ts'
import { addManual } from './manual.ts'
import { addMigrate } from './migrate.ts'
import { ignoreClosedOutput, print, printError } from './output.ts'
import { addServe } from './serve.ts'
import { addSession } from './session.ts'
import { addSystemd } from './systemd.ts'
import { addUpgrade } from './upgrade.ts'
import { addUser } from './user.ts'

/**
 * Runs one command.
 *
 * @param args without the program's name
 * @returns the exit code; `serve` keeps the process alive after it
 */
export async function run(args: readonly string[]): Promise<number> {
  ignoreClosedOutput()
  const program = new Command('ncp')
    .description('The REST API of a web-hosting control panel')
    .version(version, '--version', 'print the version')
    .exitOverride()
    .showHelpAfterError()
  addServe(program)
  addUser(program)
  addKey(program)
  addSession(program)
  addAudit(program)
  addBackup(program)
  addMigrate(program)
  addHealth(program)
  addConfig(program)
  addCert(program)
  addSystemd(program)
  addUpgrade(program)
  addCompletion(program)
  addManual(program)
  program
    .command('version')
    .description('print the version')
    .action(() => print(version))

  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode.done
  } catch (error) {
    // Commander has already said what is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage
    printError(`ncp: ${error instanceof Error ? error.message : String(error)}`)
    return error instanceof ConfigError ? exitCode.configuration : exitCode.failed
  }
}
