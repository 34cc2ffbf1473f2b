/**
 * A node for tests: a machine in mount, process and network namespaces of its own, with real users, ports and paths.
 *
 * What it changes below /etc, /home, /opt, /root, /run, /srv, /usr and /var is gone with it, and so are its processes. It
 * shares /tmp and /dev/shm with the host: a Unix socket or a data directory there is seen from both sides.
 */
import { afterAll, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { relay } from './node-relay.ts'
import { collect, ended, type Output } from './program.ts'
import { DEADLINE_MS, until } from './until.ts'
import { workaroundEnvironment } from './workarounds.ts'

const REPOSITORY = resolve(import.meta.dir, '../..')
const FIRST_PROCESS = join(import.meta.dir, 'node-machine.sh')
const NAMESPACES = ['--mount', '--pid', '--net', '--uts', '--ipc']
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** What names may lead to: addresses of the node beside 127.0.0.1 and ::1. */
export const NODE_ADDRESSES = { v4: '203.0.113.7', v6: '2001:db8::7' }

const canRun = process.getuid?.() === 0 && Bun.spawnSync(['unshare', ...NAMESPACES, '--fork', 'true']).exitCode === 0
if (!canRun) {
  const reason = 'tests of a node need root, and the right to make namespaces'
  if (Bun.env.CI) throw new Error(reason)
  process.stderr.write(`skipped: ${reason}\n`)
}

/** `test`, skipped where a node cannot be made. */
export const nodeTest = test.skipIf(!canRun)

export type CommandOptions = {
  /** A name, or a number that is user and group: root otherwise. */
  as?: string | number
  cwd?: string
  stdin?: string
  environment?: Record<string, string>
}
export type NodeMachine = Awaited<ReturnType<typeof startNodeMachine>>
export type NodeProcess = ReturnType<NodeMachine['spawn']>

/**
 * A node for the tests of a file, which ends after them: `const machine = await usingNodeMachine()`, with `nodeTest` for
 * the tests. Where a node cannot be made, those are skipped and nothing may be asked of it.
 */
export async function usingNodeMachine(): Promise<NodeMachine> {
  if (!canRun) return {} as NodeMachine
  const machine = await startNodeMachine()
  afterAll(() => machine[Symbol.asyncDispose](), DEADLINE_MS)
  return machine
}

/** For a test that wants a node to itself: `await using machine = await startNodeMachine()`. */
export async function startNodeMachine() {
  const scratch = mkdtempSync(join(tmpdir(), 'ncp-node-'))
  const first = Bun.spawn(
    [
      ...['unshare', ...NAMESPACES, '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'],
      ...['bash', FIRST_PROCESS, REPOSITORY, process.execPath, scratch],
    ],
    { cwd: '/', env: { PATH }, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' },
  )
  const started = collect(first.stdout)
  const complaints = collect(first.stderr)
  await until('the node', () => {
    if (first.exitCode !== null) throw new Error(`the node ended with ${first.exitCode}: ${complaints()}`)
    return started().includes('ready')
  })
  const init = childOf(first.pid)
  const relays: Server[] = []
  const sockets = new Map<number, Promise<string>>()
  const shared = mkdtempSync(join(tmpdir(), 'ncp-node-shared-'))
  let commands = 0

  /** Starts a command. It ends with the node at the latest. */
  function spawn(command: string[], { as, cwd = '/', stdin, environment = {} }: CommandOptions = {}) {
    // Files, and no pipes: what a daemon inherits would keep a pipe open after the command's end.
    const stdout = join(shared, `${++commands}.out`)
    const stderr = join(shared, `${commands}.err`)
    const child = Bun.spawn(
      // With the root of the node: without it, a command would leave a chroot that the tests run in, and change the host.
      ['nsenter', '--target', `${init}`, ...NAMESPACES, '--root', `--wdns=${cwd}`, '--', ...asUser(as), ...command],
      {
        cwd: '/',
        env: { PATH, HOME: '/root', ...workaroundEnvironment, ...environment },
        stdin: stdin === undefined ? 'ignore' : new Blob([stdin]),
        stdout: Bun.file(stdout),
        stderr: Bun.file(stderr),
      },
    )
    const hasEnded = () => child.exitCode !== null || child.signalCode !== null
    return {
      stdout: () => readFileSync(stdout, 'utf8'),
      stderr: () => readFileSync(stderr, 'utf8'),
      hasEnded,
      /** Resolves with its exit code. */
      ended: () => child.exited,
      /** Its process as the host numbers it. */
      pid: () => childOf(child.pid),
      /** Signals the command itself, not the program that has entered the node. Does nothing once it has ended. */
      kill(signal: NodeJS.Signals = 'SIGTERM'): void {
        try {
          process.kill(childOf(child.pid), signal)
        } catch (error) {
          if (!hasLeft(child.pid)) throw error
        }
      },
    }
  }

  /** Runs a command to its end. */
  async function run(command: string[], options: CommandOptions = {}): Promise<Output> {
    const running = spawn(command, options)
    try {
      await until(command.join(' ').slice(0, 500), running.hasEnded)
    } catch (error) {
      running.kill('SIGKILL')
      throw new Error(`${error}: ${running.stdout()}${running.stderr()}`)
    }
    return { exitCode: await running.ended(), stdout: running.stdout(), stderr: running.stderr() }
  }

  async function startRelay(from: string, to: string): Promise<void> {
    const carrier = spawn(['bun', '/opt/ncp/test/harness/node-relay.ts', from, to])
    await until('the relay', () => {
      if (carrier.hasEnded()) throw new Error(`the relay ended: ${carrier.stderr()}`)
      return carrier.stdout().includes('ready')
    })
  }

  return {
    spawn,
    run,

    /** Runs lines of bash, the first that fails being the last. @returns what they printed @throws Error if one failed */
    async bash(script: string, options: CommandOptions = {}): Promise<string> {
      const { exitCode, stdout, stderr } = await run(['bash', '-euo', 'pipefail', '-c', script], options)
      if (exitCode !== 0) throw new Error(`${script}\nended with ${exitCode}: ${stderr}${stdout}`)
      return stdout
    },

    /**
     * Where the host finds a file of the node, to read or write it without a process. An absolute link on the way leads
     * to the host's files.
     */
    path: (path: string) => `/proc/${init}/root${path}`,

    /** The path of a Unix socket that leads to a port of the node: `fetch('http://a.test/', { unix })`. */
    socketTo(port: number): Promise<string> {
      const path = join(shared, `${port}.sock`)
      const socket = sockets.get(port) ?? startRelay(path, `${port}`).then(() => path)
      sockets.set(port, socket)
      return socket
    },

    /** Lets a server on the host's 127.0.0.1 be reached at the same address and port in the node. */
    async bringIn(port: number): Promise<void> {
      const path = join(shared, `host-${port}.sock`)
      relays.push(await relay({ path }, { port }))
      await startRelay(`${port}`, path)
    },

    /** Ends every process of the node. What it has changed is gone then. */
    async [Symbol.asyncDispose](): Promise<void> {
      for (const server of relays) server.close()
      first.stdin.end()
      first.kill('SIGKILL')
      await ended(first, 'the first process of the node')
      await until('the end of the node', () => !isRunning(init))
      rmSync(shared, { recursive: true })
      rmSync(scratch, { recursive: true })
    },
  }
}

function asUser(as: string | number | undefined): string[] {
  if (as === undefined) return []
  const groups = typeof as === 'number' ? '--clear-groups' : '--init-groups'
  return ['setpriv', `--reuid=${as}`, `--regid=${as}`, groups]
}

/** The only child of a process that starts it and waits for it. @throws Error when that has ended */
function childOf(pid: number): number {
  const deadline = performance.now() + DEADLINE_MS
  while (!hasLeft(pid)) {
    if (performance.now() > deadline) throw new Error(`process ${pid} starts no child`)
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    if (child) return Number(child)
    Bun.sleepSync(1)
  }
  throw new Error(`process ${pid} has no child left`)
}

/** Whether a process is gone, or waits for its parent to take note of its end. */
function hasLeft(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.startsWith('Z') ?? true
  } catch {
    return true
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
