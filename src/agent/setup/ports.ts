/** Who listens on the ports of the web, and how they become free. */
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeLayout } from '../layout.ts'
import { titleOf } from '../processes.ts'
import { webServerPid } from '../web/running.ts'
import { mustRun } from './program.ts'
import type { Finding, Step } from './step.ts'
import { hasSystemd } from './systemd.ts'

const WEB_PORTS = [80, 443]
/** Of Debian, whose site listens on port 80 from the moment that it is installed. */
const DISTRIBUTION_UNIT = 'nginx.service'
const LISTENING = '0A'

export type Holder = {
  port: number
  pid: number
  title: string
  /** Of systemd; undefined where it started none. */
  unit: string | undefined
}

/** Whose processes listen on a port, on any address. */
export function holdersOf(ports: readonly number[] = WEB_PORTS): Holder[] {
  const inodes = new Map<string, number>()
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    if (!existsSync(file)) continue
    for (const line of readFileSync(file, 'utf8').split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
      const port = Number.parseInt(local.split(':')[1] ?? '', 16)
      if (state === LISTENING && ports.includes(port)) inodes.set(inode, port)
    }
  }
  const found = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) =>
      socketsOf(pid)
        .flatMap((inode) => inodes.get(inode) ?? [])
        .map((port) => ({ port, pid: Number(pid) })),
    )
  // The workers of a server share its sockets: its first process stands for all.
  const first = new Map(found.toSorted((a, b) => b.pid - a.pid).map((holder) => [holder.port, holder]))
  return [...first.values()]
    .sort((a, b) => a.port - b.port)
    .map((holder) => ({ ...holder, title: titleOf(holder.pid), unit: unitOf(holder.pid) }))
}

/** The inodes of the sockets that a process has open. */
function socketsOf(pid: string): string[] {
  const directory = `/proc/${pid}/fd`
  try {
    return readdirSync(directory).flatMap((name) => {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(linkOf(join(directory, name))) ?? []
      return inode === undefined ? [] : [inode]
    })
  } catch {
    // It has ended, or is hidden from us.
    return []
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function unitOf(pid: number): string | undefined {
  try {
    return /\/([^/\n]+\.service)(?:\/|$)/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1]
  } catch {
    return undefined
  }
}

/** @param takes whether the web server of the distribution may be stopped and disabled */
export function ports(layout: NodeLayout, takes: boolean): Step {
  const isOurs = ({ pid }: Holder) => pid === webServerPid(layout)
  const canTake = ({ unit }: Holder) => takes && hasSystemd() && unit === DISTRIBUTION_UNIT

  function findingOf(holder: Holder): Finding {
    const what = `port ${holder.port}, held by ${holder.unit ?? holder.title} (process ${holder.pid})`
    if (canTake(holder)) return { what, state: 'todo' }
    const stop = holder.unit === undefined ? `end process ${holder.pid}` : `systemctl disable --now ${holder.unit}`
    const advice = holder.unit === DISTRIBUTION_UNIT ? `ncp node setup --take-ports, or ${stop}` : stop
    return { what, state: 'blocked', advice }
  }

  return {
    look() {
      const others = holdersOf().filter((holder) => !isOurs(holder))
      return others.length === 0 ? [{ what: 'the ports 80 and 443', state: 'done' }] : others.map(findingOf)
    },

    apply() {
      if (!holdersOf().some(canTake)) return
      writeFileSync(layout.takenPorts, `${DISTRIBUTION_UNIT}\n`)
      mustRun('systemctl', 'disable', '--now', DISTRIBUTION_UNIT)
    },

    undo() {
      if (!existsSync(layout.takenPorts)) return []
      mustRun('systemctl', 'enable', '--now', DISTRIBUTION_UNIT)
      rmSync(layout.takenPorts)
      return []
    },
  }
}
