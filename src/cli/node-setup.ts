/** `ncp node setup` and `ncp node undo`: makes this machine a node, and takes that back. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { execPath } from 'node:process'
import type { Command } from 'commander'
import { enrolmentOf, writeEnrolment } from '../agent/enrolment.ts'
import { nodeLayout } from '../agent/layout.ts'
import type { PanelAddress } from '../agent/panel-client.ts'
import { hasSubscriptions } from '../agent/setup/directories.ts'
import { stepsOf } from '../agent/setup/setup.ts'
import { applyAll, type Finding, undoAll } from '../agent/setup/step.ts'
import { AGENT_UNIT, hasSystemd } from '../agent/setup/systemd.ts'
import { isNodeToken, writeTokenFile } from '../agent/token-file.ts'
import { printable } from '../core/printable.ts'
import { confirm, withYes } from './confirm.ts'
import { exitCode } from './exit.ts'
import { flushed, isTerminal, print } from './output.ts'
import { isHiddenFromUnits } from './systemd.ts'
import { line } from './table.ts'

type SetupOptions = { takePorts?: true; check?: true; panel?: string; ca?: string }
type Joining = { enrolment: PanelAddress; token: string }

export function addNodeSetup(node: Command): void {
  const setup: Command = node
    .command('setup')
    .description('make this machine a node: users, directories, web server, SFTP. Changes no file of others')
    .option('--check', 'change nothing, and say what is to be done; exit code 1 if there is something')
    .option('--take-ports', "stop and disable the distribution's nginx if it holds port 80 or 443")
    .option(
      '--panel <address>',
      'panel that this node belongs to: the path of its socket, or https://…; its token is read from standard input',
    )
    .option('--ca <file>', 'certificate of the authority that the panel at an https address has its own from')
    .action(async ({ takePorts, check, panel, ca }: SetupOptions) => {
      requireRoot()
      if (hasSystemd() && isHiddenFromUnits(execPath)) {
        setup.error(
          `error: the unit of the agent hides ${execPath} from it; move the program to /usr/local/bin/ncp first`,
        )
      }
      const layout = nodeLayout()
      const joining = panel === undefined ? undefined : await readJoining(setup, panel, ca)
      const steps = stepsOf({ layout, program: execPath, takesPorts: takePorts === true })
      const findings = check ? steps.flatMap((step) => step.look()) : applyAll(steps)
      report(findings, check === true)
      // Without the programs nothing was made.
      if (joining && !check && existsSync(layout.settings)) {
        writeTokenFile(layout.nodeToken, { token: joining.token, since: undefined })
        writeEnrolment(layout, joining.enrolment)
      }
      if (findings.some(({ state }) => state === 'blocked' || (check && state === 'todo'))) {
        await flushed()
        process.exit(exitCode.failed)
      }
      if (!joining || check) return
      print(`Start the agent with: ${hasSystemd() ? `systemctl enable --now ${AGENT_UNIT}` : 'ncp agent'}`)
    })

  const undo: Command = withYes(node.command('undo'))
    .description("take back what 'setup' did; files of customers stay")
    .action(async ({ yes }: { yes?: true }) => {
      requireRoot()
      const layout = nodeLayout()
      const served = hasSubscriptions(layout) ? ' Sites on it are served no longer; their files stay.' : ''
      await confirm(undo, { ask: `Make this machine a node no longer?${served}`, yes })
      for (const path of [layout.enrolment, layout.nodeToken]) rmSync(path, { force: true })
      const left = undoAll(stepsOf({ layout, program: execPath, takesPorts: false }))
      for (const what of left) print(isTerminal() ? `left  ${printable(what)}` : line(['left', what]))
    })
}

/** Ends with a usage error for an address that is none, or where standard input holds no token. */
async function readJoining(command: Command, panel: string, ca: string | undefined): Promise<Joining> {
  const enrolment = enrolmentOf(panel, ca === undefined ? undefined : readFileSync(ca, 'utf8'))
  if (!enrolment) command.error('error: --panel takes an absolute path or an https address without a path')
  const token = (await Bun.stdin.text()).trim()
  if (!isNodeToken(token)) command.error("error: standard input holds no token: run 'ncp node add' on the panel")
  return { enrolment, token }
}

/** @throws Error for anyone else */
function requireRoot(): void {
  if (process.getuid?.() !== 0) throw new Error('only root can do this')
}

function report(findings: readonly Finding[], isCheck: boolean): void {
  const open = findings.filter(({ state }) => state !== 'done')
  if (open.length === 0 && isTerminal()) print('Nothing is to be done.')
  for (const { what, state, advice = '' } of open) {
    const word = state === 'blocked' ? 'blocked' : isCheck ? 'to do' : 'done'
    print(
      isTerminal()
        ? `${word.padEnd(7)}  ${printable(what)}${advice && `\n         → ${printable(advice)}`}`
        : line([word, what, advice]),
    )
  }
}
