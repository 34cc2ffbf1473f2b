/** The database behind two words, `read` and `write`. Nothing above `db/` knows which engine it is. */
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite'
import type { Awaitable } from '../core/awaitable.ts'
import type { Durations } from '../core/durations.ts'
import type * as tables from './tables.ts'

/** A connection or a transaction, with Drizzle's query builder. Always `await` its queries. */
export type Queries = BunSQLiteDatabase<typeof tables>

export type Store = {
  /** A read-only connection. */
  read: Queries
  /**
   * Runs `work` in one transaction, one at a time: committed and durable when the promise resolves, rolled back when
   * `work` throws. `work` awaits queries of its transaction and nothing else, since everyone else waits.
   *
   * Also what it throws, and what it tells without a change, is given once the commits that it may rest on are durable.
   *
   * @throws AppError `unavailable` after five seconds behind another process, at once where too many wait already, and
   * when the disk does not keep what is written
   */
  write<T>(work: (tx: Queries) => Promise<T>): Promise<T>
  /**
   * As `write`, and a hundred times quicker: a crash of the program takes nothing of it, a power cut may take it all. For
   * what nobody was promised, such as counts of attempts and times of use.
   */
  writeSoon<T>(work: (tx: Queries) => Promise<T>): Promise<T>
  /** @throws AppError `unavailable` when no change is taken */
  requireWritable(): void
  /**
   * Resolves when everything that was committed is durable; undefined when it is already. For an answer that confirms
   * something by what was read.
   *
   * @throws AppError `unavailable`, at once or later, when nothing can be confirmed
   */
  durable(): Promise<void> | undefined
  /** What keeps writes from being confirmed, for strangers too; undefined when nothing does. */
  trouble(): string | undefined
  /** Moves at every commit of any process: what is cached from the store is valid for one version. Asked once a request. */
  version(): Awaitable<number>
  /** How long writes waited for their turn and for the lock. */
  readonly waits: Durations
  /** Bytes of the files. */
  sizes(): { database: number; wal: number }
  /**
   * Ends after the writes that wait.
   *
   * @throws LostDiskError, with the files as they are: the process must end by `exitAtOnce`
   */
  close(): Promise<void>
}

/** What serves requests reads from a store, and writes through `writeAs` alone. */
export type ReadStore = Pick<Store, 'read' | 'version'>

/**
 * Told, at the end of a transaction and within it, what was created: neither is there without the other.
 *
 * @throws what the transaction must be rolled back for
 */
export type Conclude<Result> = (tx: Queries, result: Result) => Promise<void>
