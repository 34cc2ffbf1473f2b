/** The process of the agent, without the code of the panel: root runs it, and it is small. */
import { version } from '../../package.json' with { type: 'json' }
import { startAgent } from '../agent/agent.ts'
import { readEnrolment } from '../agent/enrolment.ts'
import { nodeLayout } from '../agent/layout.ts'
import { createPanelLink } from '../agent/panel-link.ts'
import { installedVersions } from '../agent/php/versions.ts'
import { systemClock } from '../core/clock.ts'
import { printable } from '../core/printable.ts'
import { createLog } from '../log/log.ts'
import { openLogSink } from '../log/sink.ts'
import { exitCode } from './exit.ts'
import { ignoreClosedOutput, printError } from './output.ts'

/** @returns the exit code of an agent that could not start; otherwise it goes on until a signal ends it */
export async function run(): Promise<number> {
  ignoreClosedOutput()
  try {
    await start()
    return exitCode.done
  } catch (error) {
    printError(`ncp agent: ${printable(error instanceof Error ? error.message : `${error}`)}`)
    return exitCode.failed
  }
}

/** @throws Error on a machine that is no node */
async function start(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('it makes users and gives them their files: run it as root')
  // Releases are read by the web server.
  process.umask(0o022)
  const layout = nodeLayout()
  const sink = openLogSink(undefined)
  const log = createLog({
    level: 'info',
    format: process.stderr.isTTY ? 'text' : 'json',
    clock: systemClock,
    sink,
  })
  const stopping = new AbortController()
  const link = createPanelLink({
    panel: readEnrolment(layout),
    tokenPath: layout.nodeToken,
    describe: async () => ({ version, phpVersions: (await installedVersions()).map((one) => one.version) }),
    clock: systemClock,
    log,
    stopping: stopping.signal,
  })
  const agent = await startAgent({ layout, link, clock: systemClock, log })

  async function stop(): Promise<void> {
    if (stopping.signal.aborted) return
    stopping.abort()
    await agent.stop()
    log.info({}, 'the agent has stopped')
    sink.flush()
    process.exit(exitCode.done)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  process.on('SIGHUP', () => void agent.compareAll())
  log.info({ version }, 'the agent follows its panel')
}
