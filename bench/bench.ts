/**
 * Measures the panel and its peers beside a bare `Bun.serve`, and writes RESULTS.md and the plot.
 *
 *   bun run bench            everything; half an hour
 *   bun run bench --short    the panel alone; under two minutes, writes nothing
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { panelContests, peerContests, ROOT, removeRuns, WORK } from './contenders.ts'
import { compete, type Pace } from './contest.ts'
import { LARGE, makeData, SMALL } from './data.ts'
import { measureGrowth } from './growth.ts'
import { measureLogins, measureMemory, measureStart, p99AtHalfLoad } from './moments.ts'
import { plot } from './plot.ts'
import type { Server } from './process.ts'
import { formatTable, report } from './report.ts'

export const SHORT: Pace = { rounds: 3, seconds: 1, warmUpSeconds: 3 }
const FULL: Pace = { rounds: 5, seconds: 2, warmUpSeconds: 5 }
const MEMORY_MINUTES = 10

const isShort = process.argv.includes('--short')
await Bun.$`${process.execPath} build.ts`.cwd(ROOT).quiet()
const servers: Server[] = []
try {
  const small = await makeData(WORK, SMALL)
  const contests = await panelContests(small, servers)
  const [first] = contests
  if (!first) throw new Error('nothing to measure')
  if (isShort) {
    process.stdout.write(`${formatTable(await compete(contests, SHORT))}\n`)
  } else {
    const peers = await peerContests(small, first.ceiling, servers)
    const results = await compete([...contests, ...peers], FULL)
    process.stdout.write(`${formatTable(results)}\n`)
    const fullLoad = results[0]?.requestsPerSecond ?? 0
    const ceiling = { ...first, server: first.ceiling }
    const p99 = { panel: await p99AtHalfLoad(first, fullLoad), ceiling: await p99AtHalfLoad(ceiling, fullLoad) }
    const growth = await measureGrowth(WORK, first.ceiling, { rounds: 3, seconds: 2, warmUpSeconds: 3 })
    const logins = await measureLogins(small, 5)
    const large = await makeData(WORK, LARGE)
    const start = { small: await measureStart(small, 9), large: await measureStart(large, 9) }
    const memory = await measureMemory(small, MEMORY_MINUTES)
    writeFileSync(join(import.meta.dir, 'RESULTS.md'), await report({ results, p99, growth, logins, start, memory }))
    writeFileSync(join(ROOT, 'docs/performance.svg'), plot(growth))
  }
} finally {
  for (const server of servers) await server.stop()
  removeRuns()
}
