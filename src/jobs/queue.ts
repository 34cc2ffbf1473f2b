/** A persistent job queue: a job is added in the transaction that needs it, and tried afterwards until it succeeds or expires. */
import { and, asc, eq, gt, gte, inArray, lte, sql } from 'drizzle-orm'
import type { Clock } from '../core/clock.ts'
import { countUpTo } from '../db/count.ts'
import type { Queries, Store } from '../db/store.ts'
import { jobs } from '../db/tables.ts'
import type { Log } from '../log/log.ts'
import { type Backoff, delayAfter } from './backoff.ts'
import { findDue } from './due.ts'
import { createSingleFlight } from './single-flight.ts'
import { startTasks } from './task.ts'

export type Job = {
  /** The worker's input. Seal any secret in it: a deleted row stays readable in the file for a while. */
  payload: string
  /** The deadline, in milliseconds since the epoch; the job is then given up. */
  expiresAt: number
  /** Replaces a waiting job of the same kind and topic. */
  topic?: string
}

/** A job leased to this process. `attempts` includes the current one. */
export type LeasedJob = Pick<typeof jobs.$inferSelect, 'id' | 'payload' | 'attempts' | 'createdAt' | 'expiresAt'>

export type Worker = {
  /**
   * Must tolerate a job that was already done: a process can die between the work and its commit.
   *
   * @param cut aborted when the panel stops and the grace period is over
   * @throws Error to have it tried again later, unless `isFinal`
   */
  work(job: LeasedJob, cut: AbortSignal): Promise<void>
  /** Whether another attempt would fail in the same way. */
  isFinal(error: unknown): boolean
}

export type QueueOptions = {
  store: Store
  clock: Clock
  /** What expired before may be deleted for good. */
  deletableBefore(): number
  /** Stored with each job. Each kind has its own queue, so that no kind delays another. */
  kind: string
  /** Undefined in a process that runs no jobs: they wait for another process or expire. */
  worker: Worker | undefined
  /** How long a leased job belongs to one process. If that process dies, another takes the job afterwards. */
  leaseMs: number
  backoff: Backoff
  /** The backoff of jobs that expire within `lifetimeMs` of being added; its delays must not exceed those of `backoff`. */
  urgent: { lifetimeMs: number; backoff: Backoff }
  log: Log
  /** The log message when the queue itself fails, rather than a job. */
  failure: string
  /** Called when a job does not succeed. */
  tell: {
    expired(job: Pick<LeasedJob, 'id'>): void
    failed(job: LeasedJob, error: unknown, retryInMs: number): void
    refused(job: LeasedJob, error: unknown): void
  }
}

export type Queue = ReturnType<typeof createQueue>

/**
 * How often to look for due jobs. Running one right after the request would reveal that there was one, and so, for a password
 * reset, whether the email address is known.
 */
const POLL_MS = 2000
/** Jobs run at the same time, so that a slow one does not delay the others. */
const BATCH = 5
/** Expired jobs deleted at a time. */
const SWEEP = 100
/** The grace period for running jobs at shutdown. */
const STOP_MS = 2000
/** The highest count reported to monitoring. */
const MAX_COUNT = 10_000

export function createQueue(options: QueueOptions) {
  const { store, clock, deletableBefore, kind, worker, leaseMs, backoff, urgent, log, failure, tell } = options
  const isOfKind = eq(jobs.kind, kind)
  const cut = new AbortController()
  let stopPolling: (() => Promise<void>) | undefined
  let isStopping = false

  /** Deletes expired jobs and leases due ones, the most urgent first. */
  async function lease(): Promise<LeasedJob[]> {
    const now = clock.now()
    return store.write(async (tx) => {
      const expired = tx
        .select({ id: jobs.id })
        .from(jobs)
        .where(and(isOfKind, lte(jobs.expiresAt, deletableBefore())))
        .limit(SWEEP)
      const deleted = await tx.delete(jobs).where(inArray(jobs.id, expired)).returning({ id: jobs.id })
      for (const job of deleted) tell.expired(job)
      if (!worker) return []
      const longestMs = Math.max(backoff.longestDelayMs, leaseMs)
      const due = await findDue(tx, { kind, now, longestMs, limit: BATCH })
      if (due.length === 0) return []
      return tx
        .update(jobs)
        .set({ attempts: sql`${jobs.attempts} + 1`, nextAttemptAt: now + leaseMs })
        .where(inArray(jobs.id, due))
        .returning()
    })
  }

  async function attempt({ work, isFinal }: Worker, job: LeasedJob): Promise<void> {
    try {
      await work(job, cut.signal)
    } catch (error) {
      if (isFinal(error)) {
        await remove(job)
        tell.refused(job, error)
      } else {
        const retryInMs = cut.signal.aborted ? 0 : retryDelay(job)
        await store.write((tx) =>
          tx
            .update(jobs)
            .set({ nextAttemptAt: clock.now() + retryInMs })
            .where(eq(jobs.id, job.id)),
        )
        tell.failed(job, error, retryInMs)
      }
      return
    }
    await remove(job)
  }

  async function remove({ id }: LeasedJob): Promise<void> {
    await store.write((tx) => tx.delete(jobs).where(eq(jobs.id, id)))
  }

  function retryDelay({ attempts, createdAt, expiresAt }: LeasedJob): number {
    return delayAfter(expiresAt - createdAt <= urgent.lifetimeMs ? urgent.backoff : backoff, attempts)
  }

  async function runAllDue(): Promise<void> {
    while (!isStopping) {
      const leased = await lease()
      if (!worker || leased.length === 0) return
      // Wait for all of them: one that outlived the pass would outlive `stop`.
      const outcomes = await Promise.allSettled(leased.map((job) => attempt(worker, job)))
      const failed = outcomes.find((outcome) => outcome.status === 'rejected')
      if (failed) throw failed.reason
    }
  }

  const passes = createSingleFlight(() => runAllDue().catch((err) => log.error({ err }, failure)))

  /** Deletes a job in the caller's transaction. One that is running is not interrupted, and is not tried again. */
  async function withdraw(tx: Queries, topic: string): Promise<void> {
    await tx.delete(jobs).where(and(isOfKind, eq(jobs.topic, topic)))
  }

  return {
    withdraw,

    /** Adds a job in the caller's transaction: no job without the change, no change without the job. */
    async put(tx: Queries, { payload, topic, expiresAt }: Job): Promise<void> {
      const now = clock.now()
      // Deleted rather than updated: the old one may be running, and its completion must not remove the new one.
      if (topic !== undefined) await withdraw(tx, topic)
      await tx
        .insert(jobs)
        .values({ kind, payload, topic: topic ?? null, createdAt: now, nextAttemptAt: now, expiresAt })
    },

    /** Runs all due jobs. Resolves when each has been tried once. Never throws: failures are reported and tried again later. */
    runDue: passes.next,

    /** When the oldest job that has failed and still waits was added, in milliseconds since the epoch. */
    async waitingSince(): Promise<number | undefined> {
      const [oldest] = await store.read
        .select({ since: jobs.createdAt })
        .from(jobs)
        // As a number and not as a parameter: only then does SQLite take the index of those.
        .where(and(isOfKind, sql`attempts > 0`, gte(jobs.createdAt, 0), gt(jobs.expiresAt, clock.now())))
        .orderBy(asc(jobs.createdAt))
        .limit(1)
      return oldest?.since
    },

    /** Waiting and running jobs; at most 10,000 are counted. */
    countWaiting: () => countUpTo(store.read, store.read.select({ one: sql`1` }).from(jobs).where(isOfKind), MAX_COUNT),

    /** Starts polling: for the process that serves, not for a single command. */
    start(): void {
      stopPolling = startTasks([{ everyMs: POLL_MS, run: passes.next, log, failure }])
    },

    /** Gives running jobs a moment to finish, then aborts them; they run again after the next start. */
    async stop(): Promise<void> {
      isStopping = true
      const deadline = setTimeout(() => cut.abort(), STOP_MS)
      await stopPolling?.()
      await passes.idle()
      clearTimeout(deadline)
    },
  }
}
