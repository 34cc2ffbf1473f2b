/** The agent of a test node, which reaches the panel of the test through a Unix socket. Run in the node. */
import { startAgent } from '../../src/agent/agent.ts'
import { nodeLayout } from '../../src/agent/layout.ts'
import { systemClock } from '../../src/core/clock.ts'
import { createLog } from '../../src/log/log.ts'
import type { DesiredChanges } from '../../src/node/protocol.ts'

const [unix = ''] = process.argv.slice(2)
const ask = (path: string, body: unknown, signal?: AbortSignal) =>
  fetch(`http://panel${path}`, { unix, method: 'POST', body: JSON.stringify(body), ...(signal && { signal }) })
const log = createLog({
  level: 'info',
  format: 'json',
  clock: systemClock,
  sink: { write: (text: string) => process.stderr.write(text) } as never,
})
const agent = await startAgent({
  layout: nodeLayout(),
  link: {
    changesAfter: async (revision) => (await (await ask('/changes', { revision })).json()) as DesiredChanges,
    waitForChange: async (revision, signal) => {
      await ask('/wait', { revision }, signal).catch(() => undefined)
    },
    report: async (report) => {
      const { ok } = await ask('/report', report)
      if (!ok) throw new Error('the panel does not take the report')
    },
    archive: async (sha256, signal) => {
      const response = await ask('/archive', { sha256 }, signal)
      return response.ok ? (response.body ?? undefined) : undefined
    },
  },
  clock: systemClock,
  log,
})
process.on('SIGHUP', () => void agent.compareAll())
process.on('SIGTERM', () => void agent.stop().then(() => process.exit(0)))
process.stdout.write('ready\n')
