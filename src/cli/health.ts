/** `ncp health`: asks the panel on this machine, for scripts and container probes. */
import type { Command } from 'commander'
import { labelOf } from '../config/labels.ts'
import { ConfigError } from '../config/load.ts'
import { localHost } from '../core/loopback.ts'
import { askPanel } from '../lifecycle/self-check.ts'
import { configOf, withSettings } from './flags.ts'
import { printJson } from './output.ts'
import { printFacts } from './table.ts'

type Answer = {
  data: { checks: Record<string, { status: string; reason: string | null }> } | null
  message: string
}

export function addHealth(program: Command): void {
  withSettings(program.command('health'), ['host', 'port', 'tls'])
    .description('check whether the panel on this machine serves requests: exit code 0 if it does, 1 if not')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }, command: Command) => {
      const config = await configOf(command)
      const { host, port, tls } = config
      if (port === 0) throw new ConfigError([`${labelOf(config, 'port')}: set the port that the panel listens on`])
      const { status, body } = await askPanel({ host: localHost(host), port, tls }, '/readyz?verbose')
      const { data, message } = JSON.parse(body) as Answer
      const ready = status === 200
      if (json) printJson({ ready, checks: data?.checks ?? null, message })
      if (!ready || !data) throw new Error(message)
      if (json) return
      const facts = Object.entries(data.checks).map(([name, { status, reason }]) => [
        name,
        reason === null ? status : `${status}: ${reason}`,
      ])
      printFacts(Object.fromEntries(facts))
    })
}
