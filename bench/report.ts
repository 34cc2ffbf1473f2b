/** The results as text: a table for the terminal, a page for the repository. */
import { cpus, release, totalmem } from 'node:os'
import elysia from '../node_modules/elysia/package.json' with { type: 'json' }
import type { Result } from './contest.ts'
import type { Series } from './growth.ts'
import type { Logins, Start } from './moments.ts'
import peers from './package.json' with { type: 'json' }

const digits = (value: number, places: number) => value.toFixed(places)
const thousands = (value: number) => Math.round(value).toLocaleString('en')

export function formatTable(results: Result[]): string {
  const rows = results.map((result) => [
    result.name,
    digits(result.ratio, 2),
    `${digits(result.spread[0], 2)} to ${digits(result.spread[1], 2)}`,
    digits(result.cpuMicroseconds, 1),
    digits(result.ceilingMicroseconds, 1),
    thousands(result.requestsPerSecond),
    digits(result.p50Milliseconds, 2),
    digits(result.p99Milliseconds, 2),
    digits(result.residentMegabytes, 0),
    `${result.wrong}`,
  ])
  return table(
    ['request', 'CPU, ceiling = 1', 'rounds', 'µs', "ceiling's µs", 'requests/s', 'p50 ms', 'p99 ms', 'MB', 'wrong'],
    rows,
  )
}

export async function report(measured: {
  results: Result[]
  p99: { panel: number; ceiling: number }
  growth: Series[]
  logins: Logins
  start: { small: Start; large: Start }
  memory: number[]
}): Promise<string> {
  const { results, p99, growth, logins, start, memory } = measured
  const version = async (command: string[]) => (await new Response(Bun.spawn(command).stdout).text()).trim()
  return `# Results

Written by \`bun run bench\`; see [the page on performance](../docs/performance.md) for what they mean.

${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}, ${Math.round(totalmem() / 1e9)} GB, Linux ${release()}; Bun ${Bun.version}, Elysia ${
    elysia.version
  }, Node ${await version(['node', '--version'])}; ${Object.entries(peers.dependencies)
    .map(([name, number]) => `${name} ${number}`)
    .join(', ')}.

${formatTable(results)}

CPU is the kernel's count of the server's process, user and system, for each request, divided by that of a bare \`Bun.serve\` which sends
the same bytes and headers and ran just before it; the median of the rounds. 64 connections, the server on one core, wrk on another.
"wrong" counts answers with another status than expected, and failed ones.

${growth.map((series) => `${series.name}:\n\n${seriesTable(series)}`).join('\n\n')}

| | |
|---|---|
| p99 of \`GET /sites\` with a key at half of the panel's full load, and the ceiling's at the same | ${digits(p99.panel, 2)} and ${digits(p99.ceiling, 2)} ms |
| logins per second, 64 at a time | ${digits(logins.perSecond, 1)} |
| password hashes per second, nothing else | ${digits(logins.hashesPerSecond, 1)} |
| \`GET /sites\` while 64 logins run, p50 and p99 | ${digits(logins.p50Milliseconds, 1)} and ${digits(logins.p99Milliseconds, 1)} ms |
| memory then | ${digits(logins.residentMegabytes, 0)} MB |
| start to the first answer, 100 keys and 1,000,000 keys | ${digits(start.small.milliseconds, 0)} and ${digits(start.large.milliseconds, 0)} ms |
| memory two seconds later | ${digits(start.small.residentMegabytes, 0)} and ${digits(start.large.residentMegabytes, 0)} MB |
| memory under full load, at the end of each minute | ${memory.map((megabytes) => digits(megabytes, 0)).join(', ')} MB |
`
}

function seriesTable({ unit, points }: Series): string {
  return table(
    [unit, 'CPU, ceiling = 1', 'µs', 'requests/s'],
    points.map(({ x, ratio, cpuMicroseconds, requestsPerSecond }) => [
      thousands(x),
      digits(ratio, 2),
      digits(cpuMicroseconds, 1),
      thousands(requestsPerSecond),
    ]),
  )
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}
