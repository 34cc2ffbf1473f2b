/** What is measured once and not by the request: the start, memory, logins, and what logins do to the others. */
import { availableParallelism } from 'node:os'
import { loadArgon2 } from '../src/crypto/argon2.ts'
import { type Contest, keys, logIn, startPanel } from './contenders.ts'
import { PASSWORD } from './data.ts'
import { load, median } from './load.ts'

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
}

const CONCURRENT = 64

export async function measureLogins(data: string, seconds: number): Promise<Logins> {
  const { server } = await startPanel(data, { anyCore: true })
  try {
    await logIn(server, 1)
    const rates: { logins: number; hashes: number }[] = []
    for (let round = 0; round < 3; round++) {
      const hashes = await hashesPerSecond(seconds)
      rates.push({ hashes, logins: await loginsPerSecond(seconds, (user) => logIn(server, user)) })
    }
    const busy = loginsPerSecond(seconds + 1, (user) => logIn(server, user))
    await Bun.sleep(500)
    const others = await load(
      server,
      { path: '/api/v1/sites', headers: {} },
      { seconds, connections: 8, credentials: keys(20), pauseMilliseconds: 20 },
    )
    await busy
    return {
      perSecond: median(rates.map(({ logins }) => logins)),
      hashesPerSecond: median(rates.map(({ hashes }) => hashes)),
      p50Milliseconds: others.p50Milliseconds,
      p99Milliseconds: others.p99Milliseconds,
    }
  } finally {
    await server.stop()
  }
}

async function loginsPerSecond(seconds: number, login: (user: number) => Promise<unknown>): Promise<number> {
  const started = performance.now()
  let done = 0
  await Promise.all(
    Array.from({ length: CONCURRENT }, async (_, i) => {
      while (performance.now() - started < seconds * 1000) {
        await login((i % 50) + 1)
        done++
      }
    }),
  )
  return done / ((performance.now() - started) / 1000)
}

async function hashesPerSecond(seconds: number): Promise<number> {
  const { hash, verify } = await loadArgon2()
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
