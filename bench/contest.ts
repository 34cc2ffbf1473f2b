/** Runs contests: server and ceiling in turn, so that whatever else the machine does falls on both. */
import type { Contest } from './contenders.ts'
import { load, median, type Run } from './load.ts'

export type Result = {
  name: string
  /** CPU a request, with the ceiling at 1: the median over the rounds. */
  ratio: number
  /** The smallest and the largest of the rounds. */
  spread: [number, number]
  cpuMicroseconds: number
  ceilingMicroseconds: number
  requestsPerSecond: number
  p50Milliseconds: number
  p99Milliseconds: number
  residentMegabytes: number
  /** Requests that were not answered as they should have been. */
  wrong: number
}

export type Pace = { rounds: number; seconds: number; warmUpSeconds: number }

export async function compete(contests: Contest[], { rounds, seconds, warmUpSeconds }: Pace): Promise<Result[]> {
  for (const contest of contests) {
    await load(contest.ceiling, contest.request, { ...optionsOf(contest), seconds: 1 })
    await load(contest.server, contest.request, { ...optionsOf(contest), seconds: warmUpSeconds })
  }
  const runs = contests.map(() => ({ server: [] as Run[], ceiling: [] as Run[] }))
  for (let round = 0; round < rounds; round++) {
    for (const [i, contest] of contests.entries()) {
      const options = { ...optionsOf(contest), seconds }
      runs[i]?.ceiling.push(await load(contest.ceiling, contest.request, options))
      runs[i]?.server.push(await load(contest.server, contest.request, options))
    }
  }
  return contests.map((contest, i) => resultOf(contest, runs[i]?.server ?? [], runs[i]?.ceiling ?? []))
}

function optionsOf({ credentials }: Contest) {
  return credentials ? { credentials } : {}
}

function resultOf({ name, server, status }: Contest, runs: Run[], ceilings: Run[]): Result {
  const ratios = runs.map((run, i) => run.cpuMicroseconds / (ceilings[i]?.cpuMicroseconds ?? Number.NaN))
  const middle = (field: keyof Run) => median(runs.map((run) => run[field]))
  const wrong = ({ failed, refused, requests }: Run) => failed + (status < 400 ? refused : requests - refused)
  return {
    name,
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    cpuMicroseconds: middle('cpuMicroseconds'),
    ceilingMicroseconds: median(ceilings.map((run) => run.cpuMicroseconds)),
    requestsPerSecond: middle('requestsPerSecond'),
    p50Milliseconds: middle('p50Milliseconds'),
    p99Milliseconds: middle('p99Milliseconds'),
    residentMegabytes: server.residentMegabytes(),
    wrong: runs.reduce((sum, run) => sum + wrong(run), 0),
  }
}
