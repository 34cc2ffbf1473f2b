/** `ncp logs`: the log of a site, and what comes. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { LogLine, LogOptions } from '../client/follow.ts'
import { connect, type ProfileOption, withProfile } from './client.ts'
import { print, printJson } from './output.ts'

type LogsOptions = ProfileOption & LogOptions & { site: string; follow?: true; json?: true }

const MOST_LINES = 1000

export function addLogs(program: Command): void {
  withProfile(program.command('logs'))
    .description('show the log of a site')
    .requiredOption('--site <name>', 'domain or id of the site')
    .option('-f, --follow', 'go on with the lines that come')
    .addOption(new Option('--kind <kind>', 'which log').choices(['access', 'error', 'php']).default('access'))
    .option('--lines <n>', `how many of the last lines, ${MOST_LINES} at most`, readLines, 50)
    .option('--search <text>', 'only lines with this text in them')
    .option('--json', 'print one JSON document a line')
    .action(async ({ profile, site: name, follow, json, ...wanted }: LogsOptions) => {
      const panel = await connect({ ...(profile !== undefined && { profile }) })
      const { findSite } = await import('../client/sites.ts')
      const { followLog, readLog } = await import('../client/follow.ts')
      const site = await findSite(panel, name)
      const show = (lines: readonly LogLine[]) => {
        for (const line of lines) json ? printJson(line) : print(toText(line))
      }
      if (!follow) return show(await readLog(panel, site, wanted))
      const stopped = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort())
      for await (const lines of followLog(panel, site, wanted, stopped.signal)) show(lines)
    })
}

/** As `tail` of an access log shows it. */
function toText({ time, text, request }: LogLine): string {
  if (!request) return text
  const { client, method, uri, status, bytes } = request
  return `${time ?? '-'} ${client} ${method} ${uri} ${status} ${bytes}`
}

function readLines(text: string): number {
  const lines = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (lines < 1 || lines > MOST_LINES) throw new InvalidArgumentError(`It must be 1 to ${MOST_LINES}.`)
  return lines
}
