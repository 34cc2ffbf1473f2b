/**
 * Fails when a request costs more CPU than recorded in baseline.json: `bun run guard`, or `bun run guard --record` to record.
 * What fails is measured again, since a busy machine can spoil one measurement, and a regression spoils all.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { panelContests, ROOT, removeRuns, WORK } from './contenders.ts'
import { compete } from './contest.ts'
import { makeData, SMALL } from './data.ts'
import type { Server } from './process.ts'
import { formatTable } from './report.ts'

const FILE = join(import.meta.dir, 'baseline.json')
const TOLERANCE = 1.15
const ATTEMPTS = 3
const PACE = { rounds: 5, seconds: 1, warmUpSeconds: 3 }

await Bun.$`${process.execPath} build.ts`.cwd(ROOT).quiet()
const servers: Server[] = []
try {
  const contests = await panelContests(await makeData(WORK, SMALL), servers)
  if (process.argv.includes('--record')) {
    const results = await compete(contests, PACE)
    process.stdout.write(`${formatTable(results)}\n`)
    const ratios = Object.fromEntries(results.map(({ name, ratio }) => [name, Math.round(ratio * 100) / 100]))
    writeFileSync(FILE, `${JSON.stringify(ratios, null, 2)}\n`)
  } else {
    const baseline: Record<string, number> = JSON.parse(readFileSync(FILE, 'utf8'))
    let left = contests
    for (let attempt = 1; attempt <= ATTEMPTS && left.length > 0; attempt++) {
      const results = await compete(left, PACE)
      process.stdout.write(`${formatTable(results)}\n`)
      left = left.filter(
        (_, i) => !((results[i]?.ratio ?? Number.NaN) <= (baseline[left[i]?.name ?? ''] ?? 0) * TOLERANCE),
      )
    }
    for (const { name } of left) {
      process.stdout.write(`slower: ${name} costs more than ${baseline[name]} × ${TOLERANCE} times the ceiling\n`)
    }
    process.exitCode = left.length > 0 ? 1 : 0
  }
} finally {
  for (const server of servers) await server.stop()
  removeRuns()
}
