/** Starts one master of PHP-FPM as a customer's user, on sockets that root has made, and ends it. */
import { inTime } from '../../core/in-time.ts'
import { printable } from '../../core/printable.ts'
import type { Log } from '../../log/log.ts'
import { childrenOf, processesOf, signalAs, titleOf } from '../processes.ts'

export type LaunchOptions = {
  /** Absolute, of the version. */
  program: string
  /** The file that it reads. */
  configuration: string
  uid: number
  /** By the path that the configuration names. */
  sockets: ReadonlyMap<string, number>
  /** Beside its own variables; names of no others. */
  environment: Readonly<Record<string, string>>
  /** Processes and threads of the user at most: what it starts beside PHP counts too. */
  maxProcesses: number
  /** Put before the command: where systemd supervises. */
  supervisor: readonly string[]
  log: Log
}

export type Fpm = {
  pid: number
  /** Resolves when it has ended, whatever ended it. */
  exited: Promise<unknown>
  hasExited(): boolean
  /** Whether a request is served, or was some seconds ago. */
  isBusy(): boolean
  /** Lets requests end for some seconds, then ends it. */
  end(): Promise<void>
  /** Ends it at once. */
  kill(): Promise<void>
}

/** Of standard input, output and error; the sockets come next. */
const FIRST_SOCKET = 3
const READY = 'ready to handle connections'
/** On a machine that has much else to do. */
const START_MS = 30_000
/** More than `process_control_timeout`. */
const END_MS = 40_000
const TERM_MS = 5000
/** What it has to say about a failed start. */
const MAX_COMPLAINT = 2000
/** For the whole of a master, and so of its sites: reserved, and used as it fills. */
const OPCACHE_MEGABYTES = 64

/**
 * @returns once it serves
 * @throws Error with what it said, where it does not start
 */
export async function launch(options: LaunchOptions): Promise<Fpm> {
  const { program, configuration, uid, sockets, environment, maxProcesses, supervisor, log } = options
  const inherited = [...sockets.keys()].map((path, index) => `${path}=${FIRST_SOCKET + index}`)
  const child = Bun.spawn(
    [
      ...supervisor,
      ...['/usr/bin/prlimit', `--nproc=${maxProcesses}`, '--core=0'],
      // Its bounding set needs a right of the agent's to be emptied, and means nothing without new privileges.
      ...[
        '/usr/bin/setpriv',
        `--reuid=${uid}`,
        `--regid=${uid}`,
        '--clear-groups',
        '--no-new-privs',
        '--inh-caps=-all',
      ],
      ...[program, '--nodaemonize', '--force-stderr', '--fpm-config', configuration],
      ...['-d', `opcache.memory_consumption=${OPCACHE_MEGABYTES}`],
    ],
    {
      cwd: '/',
      env: { ...environment, PATH: '/usr/bin:/bin', FPM_SOCKETS: inherited.join(',') },
      stdio: ['ignore', 'ignore', 'pipe', ...sockets.values()],
    },
  )
  const ready = Promise.withResolvers<boolean>()
  const complaints: string[] = []
  void follow(child.stderr as ReadableStream<Uint8Array>, (line) => {
    if (line.includes(READY)) ready.resolve(true)
    else if (/ (?:WARNING|ERROR|ALERT): /.test(line)) {
      if (complaints.join().length < MAX_COMPLAINT) complaints.push(line)
      log.warn({ pid: child.pid, detail: line }, 'PHP-FPM complains')
    }
  })
  child.unref()
  const hasExited = () => child.exitCode !== null || child.signalCode !== null

  async function stopBy(signal: NodeJS.Signals, patienceMs: number): Promise<void> {
    if (!hasExited()) child.kill(signal)
    await inTime(child.exited, patienceMs)
    if (!hasExited()) child.kill('SIGKILL')
    await child.exited
    await killOrphans(uid)
  }
  // A master that is killed leaves its workers to themselves; told to end, it ends them first.
  const kill = () => stopBy('SIGTERM', TERM_MS)

  void child.exited.then(() => ready.resolve(false))
  if ((await inTime(ready.promise, START_MS)) !== true) {
    const state = hasExited() ? `it ended with ${child.exitCode ?? child.signalCode}` : 'it took too long'
    await kill()
    throw new Error(`PHP-FPM did not start: ${[state, ...complaints].join('; ')}`)
  }

  return {
    pid: child.pid,
    exited: child.exited,
    hasExited,
    isBusy: () => childrenOf(child.pid) > 0,
    end: () => stopBy('SIGQUIT', END_MS),
    kill,
  }
}

/** Workers whose master was killed: they would go on with what it was told. */
export async function killOrphans(uid: number): Promise<void> {
  const all = processesOf(uid)
  const orphans = all.filter(
    ({ pid, parent }) => titleOf(pid).startsWith('php-fpm: pool ') && !all.some((other) => other.pid === parent),
  )
  await signalAs(
    uid,
    'KILL',
    orphans.map(({ pid }) => pid),
  )
}

/** Reads to the end, so that its writer never waits. */
async function follow(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const chunk of stream) {
      const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n')
      rest = (lines.pop() ?? '').slice(-MAX_COMPLAINT)
      for (const line of lines) onLine(printable(line).slice(0, MAX_COMPLAINT))
    }
  } catch {
    // It was killed in the middle of a line.
  }
}
