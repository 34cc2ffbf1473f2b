/** Our units of systemd, where no package has brought them, and the directories that a restart of the machine removes. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import agentUnit from '../../../deploy/ncp-agent.service' with { type: 'text' }
import webUnit from '../../../deploy/ncp-web.service' with { type: 'text' }
import viewUnit from '../../../deploy/run-ncp-view.mount' with { type: 'text' }
import { type NodeLayout, WEB_USER } from '../layout.ts'
import { webServerPid } from '../web/running.ts'
import { ownFile } from './file.ts'
import { runProgram } from './program.ts'
import type { Step } from './step.ts'
import { AGENT_UNIT, hasSystemd, VIEW_UNIT, WEB_UNIT } from './systemd.ts'
import { treeOf } from './tree.ts'

const PACKAGED = '/usr/lib/systemd/system'
const OWN = '/etc/systemd/system'
/** Where the unit in `deploy/` expects the program. */
const USUAL_PROGRAM = '/usr/local/bin/ncp'

const reloadUnits = () => {
  if (hasSystemd()) runProgram('systemctl', 'daemon-reload')
}

/** @param program what the unit of the agent starts */
export function units(layout: NodeLayout, program: string): Step[] {
  const texts = {
    [WEB_UNIT]: webUnit,
    [VIEW_UNIT]: viewUnit,
    // A percent sign would begin one of systemd's own words.
    [AGENT_UNIT]: agentUnit.replace(`ExecStart=${USUAL_PROGRAM} `, () => `ExecStart=${program.replaceAll('%', '%%')} `),
  }
  const written = Object.entries(texts)
    .filter(([name]) => !existsSync(join(PACKAGED, name)))
    // Only a package brings the manual page; systemd would complain that there is none.
    .map(([name, text]) =>
      ownFile({
        path: join(OWN, name),
        text: () => text.replace(/^Documentation=.*\n/m, ''),
        changed: reloadUnits,
      }),
    )
  return [...written, ownFile({ path: '/etc/tmpfiles.d/ncp-node.conf', text: () => temporaryFiles(layout) })]
}

/** What a machine without files in /run has to begin with. The unit of the mount makes its own directory. */
function temporaryFiles(layout: NodeLayout): string {
  const lines = treeOf(layout)
    .filter(({ path }) => path.startsWith(layout.run) && path !== layout.view)
    .map(
      ({ path, mode, group }) => `d ${path} ${mode.toString(8).padStart(4, '0')} root ${group ? WEB_USER : 'root'} -\n`,
    )
  return `# Made by 'ncp node setup', which replaces it.\n${lines.join('')}`
}

/** Starts the web server now and at every start of the machine, once the ports are free. */
export function webService(layout: NodeLayout, arePortsFree: () => boolean): Step {
  const isOn = () => runProgram('systemctl', 'is-active', '--quiet', WEB_UNIT).exitCode === 0
  return {
    look: () => (hasSystemd() && arePortsFree() ? [{ what: WEB_UNIT, state: isOn() ? 'done' : 'todo' }] : []),
    apply() {
      const { exitCode, stderr } = runProgram('systemctl', 'enable', '--now', VIEW_UNIT, WEB_UNIT)
      if (exitCode !== 0) throw new Error(`${WEB_UNIT} does not start: ${stderr}; look at journalctl -u ${WEB_UNIT}`)
    },
    undo() {
      if (hasSystemd()) runProgram('systemctl', 'disable', '--now', AGENT_UNIT, WEB_UNIT, VIEW_UNIT)
      const pid = webServerPid(layout)
      if (pid !== undefined) throw new Error(`the web server (process ${pid}) still runs: stop the agent first`)
      return []
    },
  }
}
