/** How it grows: the same request against more keys and sites, more callers, more connections. */
import { type Contest, keys, startPanel } from './contenders.ts'
import { compete, type Pace } from './contest.ts'
import { LARGE, makeData, SMALL } from './data.ts'
import { load, median } from './load.ts'
import type { Server } from './process.ts'

export type Point = { x: number; cpuMicroseconds: number; ratio: number; requestsPerSecond: number }
export type Series = { name: string; unit: string; points: Point[] }

const KEYS = [100, 10_000, 1_000_000]
const SITES = [500, 10_000, 100_000]
const CALLERS = [1, 20, 100, 1000, 10_000]
const CONNECTIONS = [1, 4, 16, 64, 256]

/** @param ceiling one that sends the bytes of the page */
export async function measureGrowth(directory: string, ceiling: Server, pace: Pace): Promise<Series[]> {
  const request = { path: '/api/v1/sites', headers: {} }
  const byKeys = await overData('API keys in the database', 'keys', KEYS, (count) => ({ ...SMALL, keys: count }))
  const bySites = await overData('Sites in the database', 'sites', SITES, (count) => ({ ...SMALL, sites: count }))

  const { server } = await startPanel(await makeData(directory, LARGE))
  try {
    const contests: Contest[] = CALLERS.map((count) => ({
      name: `${count}`,
      server,
      ceiling,
      request,
      credentials: keys(count),
      status: 200,
    }))
    const results = await compete(contests, pace)
    const byCallers = {
      name: 'Callers that take turns, each with a key of its own, of 1,000,000 keys',
      unit: 'callers',
      points: results.map((result, i) => ({ x: CALLERS[i] ?? 0, ...result })),
    }
    const byConnections: Series = { name: 'Connections at one time', unit: 'connections', points: [] }
    for (const connections of CONNECTIONS) {
      const options = { seconds: pace.seconds, connections, credentials: keys(20) }
      const runs = []
      for (let round = 0; round < pace.rounds; round++) {
        runs.push({ ceiling: await load(ceiling, request, options), server: await load(server, request, options) })
      }
      byConnections.points.push({
        x: connections,
        ratio: median(runs.map((run) => run.server.cpuMicroseconds / run.ceiling.cpuMicroseconds)),
        cpuMicroseconds: median(runs.map((run) => run.server.cpuMicroseconds)),
        requestsPerSecond: median(runs.map((run) => run.server.requestsPerSecond)),
      })
    }
    return [byKeys, bySites, byCallers, byConnections]
  } finally {
    await server.stop()
  }

  async function overData(name: string, unit: string, counts: number[], sizeOf: (count: number) => typeof SMALL) {
    const servers: Server[] = []
    try {
      const contests: Contest[] = []
      for (const count of counts) {
        const { server } = await startPanel(await makeData(directory, sizeOf(count)))
        servers.push(server)
        contests.push({ name: `${count}`, server, ceiling, request, credentials: keys(20), status: 200 })
      }
      const results = await compete(contests, pace)
      return { name, unit, points: results.map((result, i) => ({ x: counts[i] ?? 0, ...result })) }
    } finally {
      for (const server of servers) await server.stop()
    }
  }
}
