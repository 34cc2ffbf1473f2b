/** What a node needs of its machine: lists of access, numbers of users that nobody else may act as, a web server that is up to date. */
import { existsSync, mkdtempSync, readFileSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type NodeLayout, uidOf } from '../../agent/layout.ts'
import { titleOf } from '../../agent/processes.ts'
import { hasSystemd, WEB_UNIT } from '../../agent/setup/systemd.ts'
import { webServerPid } from '../../agent/web/running.ts'
import { hasAcl, setAcl } from '../../system/acl.ts'
import { type Finding, failed, ok, orOk, warning } from './finding.ts'

/** Of `starttime` in /proc/PID/stat, the same on every architecture. */
const TICKS_PER_SECOND = 100
/** The time of the start of the machine is in whole seconds. */
const UNCERTAIN_MS = 2000
const RANGES = [
  ['/etc/subuid', '--del-subuids'],
  ['/etc/subgid', '--del-subgids'],
] as const

/** As root, on a machine that is prepared. */
export const checkNodeSystem = (layout: NodeLayout): Finding[] => [
  checkLists(layout),
  ...checkConfiguration(layout),
  ...checkRanges(),
]

function checkLists({ staging, sites }: NodeLayout): Finding {
  // Set-up has named it already.
  if (!existsSync(staging)) return failed(`${staging} is missing`, 'ncp node setup')
  const probe = mkdtempSync(join(staging, 'doctor-'))
  try {
    const acl = { mode: 0o700, users: new Map([[uidOf(1), 5]]) }
    setAcl(probe, acl)
    if (hasAcl(probe, acl)) return ok(`the file system of ${sites} has access control lists`)
  } catch {
    // Said below.
  } finally {
    rmdirSync(probe)
  }
  return failed(
    `the file system of ${sites} has no access control lists, which keep customers apart`,
    `mount it with the option acl, or use ext4, XFS or Btrfs for ${sites}`,
  )
}

/** A configuration that was written after the web server has read it is not in force. */
function checkConfiguration(layout: NodeLayout): Finding[] {
  const pid = webServerPid(layout)
  if (pid === undefined || !existsSync(layout.webConfiguration)) return []
  const read = Math.max(...workersOf(pid).map(startedAt))
  return statSync(layout.webConfiguration).mtimeMs <= read + UNCERTAIN_MS
    ? [ok('the web server uses its present configuration')]
    : [
        warning(
          'the web server still uses the configuration from before the last change',
          hasSystemd() ? `systemctl reload ${WEB_UNIT}` : `kill -HUP ${pid}`,
        ),
      ]
}

/** It starts new ones for a new configuration. */
function workersOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  return children.filter((child) => titleOf(child) === 'nginx: worker process')
}

/** @returns milliseconds since the epoch, or 0 for a process that has ended */
function startedAt(pid: number): number {
  try {
    const [, bootSeconds = ''] = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8')) ?? []
    // Its name, in parentheses, may hold anything.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return (Number(bootSeconds) + Number(fields[19]) / TICKS_PER_SECOND) * 1000
  } catch {
    return 0
  }
}

function checkRanges(): Finding[] {
  const overlaps = RANGES.flatMap(([file, option]) =>
    rangesOfOthers(existsSync(file) ? readFileSync(file, 'utf8') : '').map(({ name, first, last }) =>
      warning(
        `${file}: ${name} may act as the numbers ${first} to ${last}, which are customers' from ${uidOf(0)} on`,
        `usermod ${option} ${first}-${last} ${name}`,
      ),
    ),
  )
  return orOk(overlaps, 'nobody else may act as the users of customers')
}

/** @param text of /etc/subuid @returns those ranges that reach into the numbers of customers */
function rangesOfOthers(text: string): { name: string; first: number; last: number }[] {
  return text
    .split('\n')
    .map((line) => /^([^:#\s]+):(\d+):(\d+)$/.exec(line.trim()))
    .filter((found) => found !== null)
    .map(([, name = '', first, count]) => ({ name, first: Number(first), last: Number(first) + Number(count) - 1 }))
    .filter(({ first, last }) => last >= first && last >= uidOf(0))
}
