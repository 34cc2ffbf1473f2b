/** Servers under test: started on one core, watched through the kernel's accounting, stopped at the end. */
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** The server has its own core, and so has the load generator. */
const SERVER_CORE = '0'
const CLIENT_CORE = '1'
/** Hertz of the counters in /proc: USER_HZ, 100 on every Linux. */
const TICKS_PER_SECOND = 100
const START_DEADLINE_MS = 60_000

export type Server = {
  pid: number
  origin: string
  /** CPU time used since its start, user and system, all threads, in microseconds; steps of 10,000. */
  cpuMicroseconds(): number
  residentMegabytes(): number
  /** Milliseconds from its start to its first answer. */
  startMilliseconds: number
  stop(): Promise<void>
}

let port = 20_000 + (process.pid % 20_000)

/** A port that nothing else in this run uses. */
export const nextPort = () => port++

export const canPin = cpus().length > 1

/** @param command program and arguments */
export const onClientCore = (command: string[]) => (canPin ? ['taskset', '-c', CLIENT_CORE, ...command] : command)

/**
 * Starts a server and waits for its first answer.
 *
 * @param options.probe path that answers once the server serves
 * @throws Error when it ends or doesn't answer in time
 */
export async function startServer(
  command: string[],
  options: { origin: string; probe: string; cwd?: string; env?: Record<string, string>; anyCore?: boolean },
): Promise<Server> {
  const { origin, probe } = options
  const started = performance.now()
  const child = Bun.spawn(canPin && !options.anyCore ? ['taskset', '-c', SERVER_CORE, ...command] : command, {
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/tmp', ...options.env },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: Bun.file(`/tmp/ncp-bench-${new URL(origin).port}.err`),
  })
  while (!(await answers(`${origin}${probe}`))) {
    if (child.exitCode !== null || performance.now() - started > START_DEADLINE_MS) {
      child.kill('SIGKILL')
      throw new Error(`${command[0]} does not answer; see /tmp/ncp-bench-${new URL(origin).port}.err`)
    }
    await Bun.sleep(1)
  }
  const { pid } = child
  return {
    pid,
    origin,
    startMilliseconds: performance.now() - started,
    cpuMicroseconds: () => cpuMicroseconds(pid),
    residentMegabytes: () => residentMegabytes(pid),
    async stop() {
      child.kill('SIGTERM')
      const killer = setTimeout(() => child.kill('SIGKILL'), 3000)
      await child.exited
      clearTimeout(killer)
    },
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { tls: { rejectUnauthorized: false } })
    await response.arrayBuffer()
    return true
  } catch {
    return false
  }
}

function cpuMicroseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The name, which may hold anything, ends at the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6
}

function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) / 1000
}
