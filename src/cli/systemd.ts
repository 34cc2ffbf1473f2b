/** `ncp systemd …`: prints or installs the unit that runs the panel. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import type { Command } from 'commander'
import unit from '../../deploy/ncp.service' with { type: 'text' }
import users from '../../deploy/ncp.sysusers' with { type: 'text' }
import { print, printDocument, printError } from './output.ts'

/** Where the unit in `deploy/` expects the program. */
const USUAL_PLACE = '/usr/local/bin/ncp'
/** The unit hides these from the panel, its own program included. */
const HIDDEN = /^\/(home|root|run\/user|tmp|var\/tmp)\//
/** Whether our units could not start a program of this path. */
export const isHiddenFromUnits = (path: string): boolean => HIDDEN.test(path)
/** What needs neither quotes nor escapes in ExecStart (systemd.service(5)). */
const PLAIN_PATH = /^\/[\w./+@%~-]+$/
const SETTINGS = '# Settings of the panel. To list all of them: ncp config show\ndata = "/var/lib/ncp"\n'

export function addSystemd(program: Command): void {
  const systemd = program.command('systemd').description('run the panel under systemd')

  const printUnit: Command = systemd
    .command('print')
    .description('print the unit file')
    .option('--binary <file>', 'program that the unit starts (default: this one)')
    .action(({ binary }: { binary?: string }) => {
      if (binary === undefined && isHiddenFromUnits(execPath)) {
        printError(
          `The unit hides ${execPath} from the panel: move the program to ${USUAL_PLACE}, where this unit expects it.`,
        )
      }
      printDocument(unitFor(printUnit, binary ?? (isHiddenFromUnits(execPath) ? USUAL_PLACE : execPath)))
    })

  const install: Command = systemd
    .command('install')
    .description('write the unit, its user and a first configuration file, without starting anything')
    .option('--binary <file>', 'program that the unit starts (default: this one)', execPath)
    .option('--root <dir>', 'write below this directory, as a package build does, and leave the running system alone')
    .action(({ binary, root }: { binary: string; root?: string }) => {
      write(root, '/etc/systemd/system/ncp.service', unitFor(install, binary))
      write(root, '/etc/sysusers.d/ncp.conf', users)
      writeOnce(root, '/etc/ncp/ncp.toml', SETTINGS)
      if (root !== undefined) return
      run('systemd-sysusers', 'ncp.conf')
      run('systemctl', 'daemon-reload')
      print('Start it with: systemctl enable --now ncp')
    })
}

/** Ends with a usage error for a program that systemd could not start from the unit. */
function unitFor(command: Command, binary: string): string {
  if (!PLAIN_PATH.test(binary)) {
    command.error(
      `error: systemd needs an absolute path to the program, made of letters, digits and ./_+@%~-: ${binary}`,
    )
  }
  if (isHiddenFromUnits(binary)) {
    command.error(`error: the unit hides ${binary} from the panel; move the program to ${USUAL_PLACE} first`)
  }
  // A package has the manual page; elsewhere systemd would complain that there is none.
  const documented = binary.startsWith('/usr/bin/') ? unit : unit.replace(/^Documentation=.*\n/m, '')
  // A percent sign would begin one of systemd's own words.
  return documented.replace(`ExecStart=${USUAL_PLACE} `, () => `ExecStart=${binary.replaceAll('%', '%%')} `)
}

/** What was there is replaced: changes of the operator belong into `systemctl edit ncp`. */
function write(root = '/', path: string, text: string): void {
  const target = join(root, path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, text, { mode: 0o644 })
  print(target)
}

function writeOnce(root = '/', path: string, text: string): void {
  if (!existsSync(join(root, path))) write(root, path, text)
}

/** @throws Error when the command fails; it has already said why */
function run(command: string, argument: string): void {
  const { exitCode } = Bun.spawnSync([command, argument], { stdout: 'inherit', stderr: 'inherit' })
  if (exitCode !== 0) throw new Error(`${command} ${argument} failed with exit code ${exitCode}`)
}
