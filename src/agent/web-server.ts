/** Our own nginx as a child of the agent, on a machine without systemd: started, started again, and taken over. */
import { rmSync } from 'node:fs'
import { codeOf } from '../core/error-code.ts'
import { inTime } from '../core/in-time.ts'
import { pause } from '../core/pause.ts'
import { type Backoff, delayAfter } from '../jobs/backoff.ts'
import type { Log } from '../log/log.ts'
import type { NodeLayout } from './layout.ts'
import { processesOf } from './processes.ts'
import { webServerPid } from './web/running.ts'

const BACKOFF: Backoff = { firstDelayMs: 100, longestDelayMs: 60_000 }
/** One that ran so long did not fail at its start. */
const GOOD_RUN_MS = 10_000
const LOOK_MS = 250
const STEP_MS = 20
/** Requests under way may end. */
const PATIENCE_MS = 10_000
const MAX_COMPLAINT = 4000

export type WebServer = { stop(): Promise<void> }

type Running = { pid: number; exited: Promise<unknown> }

/** @param webUid of its workers */
export function startWebServer(layout: NodeLayout, webUid: number, log: Log): WebServer {
  const stopping = new AbortController()
  const running = run()

  /** What an agent before this one has started, and left behind. */
  function findRunning(): Running | undefined {
    const pid = webServerPid(layout)
    if (pid === undefined) return undefined
    log.info({ pid }, 'the web server that runs already was taken over')
    return { pid, exited: waitForEnd(pid) }
  }

  async function waitForEnd(pid: number): Promise<void> {
    while (webServerPid(layout) === pid) await Bun.sleep(LOOK_MS)
  }

  /** A master that is killed leaves its workers to themselves, and they hold the ports. */
  async function endWorkers(): Promise<void> {
    for (let left = processesOf(webUid); left.length > 0; left = processesOf(webUid)) {
      for (const { pid } of left) signal(pid, 'SIGKILL')
      await Bun.sleep(STEP_MS)
    }
  }

  async function start(): Promise<Running> {
    await endWorkers()
    // One that was killed has left it, and nginx would not listen then.
    for (const socket of [layout.probeSocket, layout.candidateSocket]) rmSync(socket, { force: true })
    const child = Bun.spawn(
      [
        ...['/bin/sh', '-c', 'umask 077; exec "$@"', 'sh'],
        ...['/usr/sbin/nginx', '-e', 'stderr', '-c', layout.webConfiguration, '-g', 'daemon off;'],
      ],
      { cwd: '/', env: {}, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    void follow(child.stderr, log)
    child.unref()
    return { pid: child.pid, exited: child.exited }
  }

  async function run(): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const startedAt = performance.now()
      const server = findRunning() ?? (await start())
      const stop = () => signal(server.pid, 'SIGQUIT')
      stopping.signal.addEventListener('abort', stop)
      await Promise.race([server.exited, whenAborted(stopping.signal)])
      stopping.signal.removeEventListener('abort', stop)
      if (stopping.signal.aborted) {
        if (!(await hasEnded(server))) signal(server.pid, 'SIGKILL')
        return
      }
      failures = performance.now() - startedAt > GOOD_RUN_MS ? 1 : failures + 1
      log.error({ pid: server.pid }, 'the web server has ended; it is started again')
      await pause(delayAfter(BACKOFF, failures), stopping.signal)
    }
  }

  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** Does nothing to one that has ended. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

const hasEnded = async ({ exited }: Running) =>
  (await inTime(
    exited.then(() => true),
    PATIENCE_MS,
  )) === true

const whenAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))

async function follow(stream: ReadableStream<Uint8Array>, log: Log): Promise<void> {
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    const detail = decoder.decode(chunk, { stream: true }).trim().slice(0, MAX_COMPLAINT)
    if (detail !== '') log.warn({ detail }, 'the web server says')
  }
}
