/** The command line: registers the commands, and maps failures to exit codes. */
import { Command, CommanderError } from 'commander'
import { version } from '../../package.json' with { type: 'json' }
import { ClientFailure } from '../client/failures.ts'
import { ConfigError } from '../config/load.ts'
import { printableLines } from '../core/printable.ts'
import { isLostDisk } from '../db/failures.ts'
import { exitAtOnce } from '../system/exit.ts'
import { addAgent } from './agent.ts'
import { addAudit } from './audit.ts'
import { addBackup } from './backup.ts'
import { addCert } from './cert.ts'
import { addCompletion } from './completion.ts'
import { addConfig } from './config.ts'
import { addDeploy } from './deploy.ts'
import { addDoctor } from './doctor.ts'
import { clientExitCodes, exitCode } from './exit.ts'
import { explain } from './explain.ts'
import { addHealth } from './health.ts'
import { addKey } from './key.ts'
import { addLogin } from './login.ts'
import { addManual } from './manual.ts'
import { addMigrate } from './migrate.ts'
import { addNode } from './node.ts'
import { addOpenApi } from './openapi.ts'
import { ignoreClosedOutput, print, printError } from './output.ts'
import { addServe } from './serve.ts'
import { addSession } from './session.ts'
import { addLogs } from './site-logs.ts'
import { addSites } from './sites.ts'
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
    .description('A web-hosting control panel')
    .version(version, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(printableLines(text)) })
  addServe(program)
  addUser(program)
  addKey(program)
  addNode(program)
  addAgent(program)
  addSession(program)
  addAudit(program)
  addBackup(program)
  addMigrate(program)
  addHealth(program)
  addDoctor(program)
  addConfig(program)
  addCert(program)
  addSystemd(program)
  addUpgrade(program)
  addLogin(program)
  addDeploy(program)
  addSites(program)
  addLogs(program)
  addCompletion(program)
  addManual(program)
  addOpenApi(program)
  program
    .command('version')
    .description('print the version')
    .action(() => print(version))
  pointToHelp(program)

  try {
    // Half of all programs have the one letter, half the other.
    await program.parseAsync(args[0] === '-v' ? ['--version'] : args, { from: 'user' })
    return exitCode.done
  } catch (error) {
    // Commander has already said what is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage
    printError(`ncp: ${explain(error)}`)
    if (error instanceof ClientFailure) return clientExitCodes[error.kind]
    if (isLostDisk(error)) exitAtOnce(exitCode.disk)
    return error instanceof ConfigError ? exitCode.configuration : exitCode.failed
  }
}

/** After a usage error: the whole help would drown what is wrong. */
function pointToHelp(command: Command, path = 'ncp'): void {
  command.showHelpAfterError(`See '${path} --help'.`)
  for (const next of command.commands) pointToHelp(next, `${path} ${next.name()}`)
}
