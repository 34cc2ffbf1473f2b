/**
 * What the runtime alone takes for what every request of a panel needs: `bun run floor`. Less than the last line no panel on this
 * runtime can take, whatever its own code does.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Contest, WORK } from './contenders.ts'
import { compete } from './contest.ts'
import { nextPort, type Server, startServer } from './process.ts'
import { formatTable } from './report.ts'

/** A request header read, the peer's address, the URL, response headers of its own, a line in the log. */
export type Need = 'header' | 'address' | 'url' | 'headers' | 'log'

const NEEDS: Need[] = ['header', 'address', 'url', 'headers', 'log']
const PACE = { rounds: 7, seconds: 1, warmUpSeconds: 2 }
const REQUEST = { path: '/api/v1/sites', headers: { authorization: `Bearer ncp_${'0'.repeat(64)}` } }

const servers: Server[] = []

async function start(needs: Need[]): Promise<Server> {
  const port = nextPort()
  const command = [process.execPath, join(import.meta.dir, 'floor-server.ts'), `${port}`, needs.join(',')]
  const log = join(WORK, `run-floor-${port}.log`)
  const server = await startServer([...command, log], { origin: `http://127.0.0.1:${port}`, probe: '/' })
  servers.push(server)
  return server
}

mkdirSync(WORK, { recursive: true })
try {
  const ceiling = await start([])
  const contests: Contest[] = []
  for (const needs of [...NEEDS.map((need) => [need]), NEEDS]) {
    const name = needs.length === 1 ? `${needs}` : 'all of them'
    contests.push({ name, server: await start(needs), ceiling, request: REQUEST, status: 200 })
  }
  process.stdout.write(`${formatTable(await compete(contests, PACE))}\n`)
} finally {
  for (const server of servers) await server.stop()
  for (const name of new Bun.Glob('run-floor-*').scanSync(WORK)) rmSync(join(WORK, name))
}
