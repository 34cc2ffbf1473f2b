/** What is measured once and not by the request: the start, memory, logins, and what logins do to the others. */
import { availableParallelism } from 'node:os'
import { loadArgon2 } from '../src/crypto/argon2.ts'
import { CALLERS, type Contest, keys, logIn, startPanel } from './contenders.ts'
import { emailOf, PASSWORD } from './data.ts'
import { load, median } from './load.ts'
import type { Server } from './process.ts'

export type Start = { milliseconds: number; residentMegabytes: number }

/** From the start of the process to its first answer, and its memory then; again and again on the same data. */
export async function measureStart(data: string, times: number): Promise<Start> {
  const first = await startPanel(data, { anyCore: true })
  await first.server.stop()
  const starts: Start[] = []
  for (let i = 0; i < times; i++) {
    const { server } = await startPanel(first.directory, { anyCore: true, fresh: false })
    await Bun.sleep(2000)
    starts.push({ milliseconds: server.startMilliseconds, residentMegabytes: server.residentMegabytes() })
    await server.stop()
  }
  return {
    milliseconds: median(starts.map((start) => start.milliseconds)),
    residentMegabytes: median(starts.map((start) => start.residentMegabytes)),
  }
}

/** Memory under full load, in megabytes at the end of each minute. */
export async function measureMemory(data: string, minutes: number): Promise<number[]> {
  const { server } = await startPanel(data)
  const request = { path: '/api/v1/sites', headers: {} }
  const megabytes: number[] = []
  try {
    for (let minute = 0; minute < minutes; minute++) {
      await load(server, request, { seconds: 60, credentials: keys(CALLERS) })
      megabytes.push(server.residentMegabytes())
    }
    return megabytes
  } finally {
    await server.stop()
  }
}

/** The slowest of a hundred requests while the server has half the load that it could take. */
export async function p99AtHalfLoad({ server, request, credentials }: Contest, fullLoad: number): Promise<number> {
  const connections = 64
  const pauseMilliseconds = Math.max(1, Math.round((connections / (fullLoad / 2)) * 1000))
  const runs = []
  for (let round = 0; round < 5; round++) {
    const options = { seconds: 2, connections, pauseMilliseconds, ...(credentials && { credentials }) }
    runs.push(await load(server, request, options))
  }
  return median(runs.map((run) => run.p99Milliseconds))
}

export type Logins = {
  perSecond: number
  /** What the password hash alone allows, on as many threads. */
  hashesPerSecond: number
  /** Of `GET /sites` while 64 logins run. */
  p50Milliseconds: number
  p99Milliseconds: number
  /** While both run. */
  residentMegabytes: number
}

const CONCURRENT = 64

export async function measureLogins(data: string, seconds: number): Promise<Logins> {
  const { server } = await startPanel(data, { anyCore: true })
  try {
    await logIn(server, 1)
    const rates: { logins: number; hashes: number }[] = []
    for (let round = 0; round < 3; round++) {
      const hashes = await hashesPerSecond(seconds)
      rates.push({ hashes, logins: await loginsPerSecond(server, seconds) })
    }
    const busy = loginsPerSecond(server, 3 * seconds + 1)
    await Bun.sleep(500)
    const others = []
    for (let round = 0; round < 3; round++) {
      const options = { seconds, connections: 8, credentials: keys(CALLERS), pauseMilliseconds: 20 }
      others.push(await load(server, { path: '/api/v1/sites', headers: {} }, options))
    }
    const residentMegabytes = server.residentMegabytes()
    await busy
    return {
      perSecond: median(rates.map(({ logins }) => logins)),
      hashesPerSecond: median(rates.map(({ hashes }) => hashes)),
      p50Milliseconds: median(others.map((run) => run.p50Milliseconds)),
      p99Milliseconds: median(others.map((run) => run.p99Milliseconds)),
      residentMegabytes,
    }
  } finally {
    await server.stop()
  }
}

/** @throws Error when one is refused: that costs less */
async function loginsPerSecond(server: Server, seconds: number): Promise<number> {
  const bodies = Array.from({ length: 50 }, (_, i) => JSON.stringify({ email: emailOf(i + 1), password: PASSWORD }))
  const request = { path: '/api/v1/auth/login', headers: {} }
  const { requestsPerSecond, refused, failed } = await load(server, request, {
    seconds,
    connections: CONCURRENT,
    bodies,
  })
  if (refused + failed > 0) throw new Error(`${refused} logins were refused, ${failed} failed`)
  return requestsPerSecond
}

async function hashesPerSecond(seconds: number): Promise<number> {
  const { hash, verify } = await loadArgon2({ isNative: true, givesWay: true })
  const stored = await hash(PASSWORD, { memoryCost: 19_456, timeCost: 2 })
  const started = performance.now()
  let done = 0
  await Promise.all(
    Array.from({ length: availableParallelism() }, async () => {
      while (performance.now() - started < seconds * 1000) {
        await verify(PASSWORD, stored)
        done++
      }
    }),
  )
  return done / ((performance.now() - started) / 1000)
}
