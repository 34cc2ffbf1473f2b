/** Whether this machine still is what `ncp node setup` made of it, and its web server runs. */
import { existsSync, readFileSync } from 'node:fs'
import { execPath } from 'node:process'
import type { NodeLayout } from '../../agent/layout.ts'
import { followsNoLinks } from '../../agent/mounts.ts'
import { stepsOf } from '../../agent/setup/setup.ts'
import { hasSystemd, WEB_UNIT } from '../../agent/setup/systemd.ts'
import { webServerPid } from '../../agent/web/running.ts'
import { type Finding, failed, ok, orOk, warning } from './finding.ts'
import { checkNodeSystem } from './node-system.ts'

/** What the configuration of the web server asks for. */
const OPEN_FILES = 65_536

/** @param layout of a machine that is prepared; looked at as root */
export function checkNode(layout: NodeLayout): Finding[] {
  const open = stepsOf({ layout, program: execPath, takesPorts: false })
    .flatMap((step) => step.look())
    .filter(({ state }) => state !== 'done')
    .map(({ what, state, advice }) =>
      state === 'blocked' ? failed(what, advice) : failed(`${what} is not as set-up leaves it`, 'ncp node setup'),
    )
  return [
    ...orOk(open, "everything is as 'ncp node setup' leaves it"),
    ...checkWebServer(layout),
    checkLinks(layout),
    ...checkNodeSystem(layout),
  ]
}

function checkWebServer(layout: NodeLayout): Finding[] {
  const start = hasSystemd() ? `systemctl restart ${WEB_UNIT}` : 'start the agent: ncp agent'
  const pid = webServerPid(layout)
  if (pid === undefined) return [failed('the web server does not run', start)]
  const [, limit = ''] = /^Max open files +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? []
  return [
    existsSync(layout.probeSocket)
      ? ok(`the web server runs (process ${pid})`)
      : failed('the web server does not listen for the agent', start),
    Number(limit) >= OPEN_FILES
      ? ok(`the web server may open ${limit} files`)
      : warning(
          `the web server may open only ${limit} files`,
          hasSystemd() ? `systemctl edit ${WEB_UNIT}: LimitNOFILE=${OPEN_FILES}` : `ulimit -n ${OPEN_FILES}`,
        ),
  ]
}

function checkLinks({ view }: NodeLayout): Finding {
  return followsNoLinks(view)
    ? ok('links of customers are refused by the kernel')
    : warning(
        'links of customers are refused by the web server, at twice the work a request',
        'use Linux 5.10 or newer',
      )
}
