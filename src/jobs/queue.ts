/** Work that survives a crash: put down in the transaction of what asks for it, and done afterwards until it is done or too late. */
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
  /** What its worker reads. A secret in it is sealed: a deleted row stays readable in the file for a while. */
  payload: string
  /** Milliseconds since the epoch; from then on it is not worth doing. */
  expiresAt: number
  /** Replaces a job of the same kind and topic that still waits. */
  topic?: string
}

/** A job that this process has the lease of. `attempts` counts this one too. */
export type LeasedJob = Pick<typeof jobs.$inferSelect, 'id' | 'payload' | 'attempts' | 'createdAt' | 'expiresAt'>

export type Worker = {
  /**
   * Does a job. It may have been done before: a process can die after the work and before it says so.
   *
   * @param cut aborted when the panel stops and has waited long enough
   * @throws Error: it is tried again later, unless `isFinal`
   */
  work(job: LeasedJob, cut: AbortSignal): Promise<void>
  /** Whether another attempt would fail just the same. */
  isFinal(error: unknown): boolean
}

export type QueueOptions = {
  store: Store
  clock: Clock
  /** What expired before may be deleted for good. */
  deletableBefore(): number
  /** The kind of all its jobs, as it is stored. Each kind has one queue, so that no kind holds up another. */
  kind: string
  /** Undefined where this process does none: they wait for another one, or until they expire. */
  worker: Worker | undefined
  /** How long a job is one process's to do. A process that dies over it leaves it to the next after that. */
  leaseMs: number
  backoff: Backoff
  /** The backoff of jobs with no more than this time from the putting down to the expiry; not longer than the other. */
  urgent: { lifetimeMs: number; backoff: Backoff }
  log: Log
  /** What the log says when the queue itself fails, and not a job. */
  failure: string
  /** What became of jobs, where they were not simply done. */
  tell: {
    expired(job: Pick<LeasedJob, 'id'>): void
    failed(job: LeasedJob, error: unknown, retryInMs: number): void
    refused(job: LeasedJob, error: unknown): void
  }
}

export type Queue = ReturnType<typeof createQueue>

/**
 * How often to look for jobs that are due. Not at once after each request: what the panel does next would tell whether there
 * was a job to do, and so, for one, whether an email address is known.
 */
const POLL_MS = 2000
/** Jobs at a time, so that a slow one does not hold up the others. */
const BATCH = 5
/** Expired jobs deleted at a time. */
const SWEEP = 100
/** What jobs under way get to finish at shutdown. */
const STOP_MS = 2000
/** What monitoring is told at the most. */
const MAX_COUNT = 10_000

export function createQueue(options: QueueOptions) {
  const { store, clock, deletableBefore, kind, worker, leaseMs, backoff, urgent, log, failure, tell } = options
  const isOfKind = eq(jobs.kind, kind)
  const cut = new AbortController()
  let stopPolling: (() => Promise<void>) | undefined
  let isStopping = false

  /** Deletes what has expired and leases what is due, the most urgent first. */
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
      // All of them first: what is still under way when the pass ends would outlive `stop`.
      const outcomes = await Promise.allSettled(leased.map((job) => attempt(worker, job)))
      const failed = outcomes.find((outcome) => outcome.status === 'rejected')
      if (failed) throw failed.reason
    }
  }

  const passes = createSingleFlight(() => runAllDue().catch((err) => log.error({ err }, failure)))

  /** Deletes a job that still waits, or is under way and will not be tried again, in the caller's transaction. */
  async function withdraw(tx: Queries, topic: string): Promise<void> {
    await tx.delete(jobs).where(and(isOfKind, eq(jobs.topic, topic)))
  }

  return {
    withdraw,

    /** Puts a job down in the caller's transaction: no job without the change, no change without the job. */
    async put(tx: Queries, { payload, topic, expiresAt }: Job): Promise<void> {
      const now = clock.now()
      // Deleted and not changed: the old one may be under way, and must not take the new one with it when it is done.
      if (topic !== undefined) await withdraw(tx, topic)
      await tx
        .insert(jobs)
        .values({ kind, payload, topic: topic ?? null, createdAt: now, nextAttemptAt: now, expiresAt })
    },

    /** Does what is due now. Resolves when it has been tried; a failure is told and tried again later. Never throws. */
    runDue: passes.next,

    /** When the oldest job was put down that has failed and still waits, in milliseconds since the epoch. */
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

    /** Jobs that wait, those under way included; 10,000 for any number above. */
    countWaiting: () => countUpTo(store.read, store.read.select({ one: sql`1` }).from(jobs).where(isOfKind), MAX_COUNT),

    /** Begins to look for jobs: for the process that serves, and not for one command. */
    start(): void {
      stopPolling = startTasks([{ everyMs: POLL_MS, run: passes.next, log, failure }])
    },

    /** Lets jobs under way finish for a moment, then cuts them off; they are done after the next start. */
    async stop(): Promise<void> {
      isStopping = true
      const deadline = setTimeout(() => cut.abort(), STOP_MS)
      await stopPolling?.()
      await passes.idle()
      clearTimeout(deadline)
    },
  }
}
