/** The database behind two functions, `read` and `write`. Nothing above `db/` knows which engine it is. */
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
   * Errors, and results that changed nothing, are also held back until the commits they may rest on are durable.
   *
   * @throws AppError `unavailable` after five seconds behind another process, at once if too many already wait, and
   * when the disk does not keep what is written
   */
  write<T>(work: (tx: Queries) => Promise<T>): Promise<T>
  /**
   * Like `write`, but a hundred times faster: a crash of the program loses nothing, a power cut can lose it all. For
   * data that no client was promised, such as attempt counts and usage times.
   */
  writeSoon<T>(work: (tx: Queries) => Promise<T>): Promise<T>
  /** @throws AppError `unavailable` while no changes are accepted */
  requireWritable(): void
  /**
   * Resolves when all commits are durable; undefined if they already are. For a response that confirms something on the
   * basis of what was read.
   *
   * @throws AppError `unavailable`, at once or later, when nothing can be confirmed
   */
  durable(): Promise<void> | undefined
  /** What keeps writes from being confirmed, in words fit for strangers; undefined if nothing does. */
  trouble(): string | undefined
  /** Calls back after each write of this process, once it is durable, whether or not it changed something. */
  onWrite(listener: () => void): void
  /** Changes with every commit of any process: cached data is valid for one version. Read once per request. */
  version(): Awaitable<number>
  /** How long writes waited for their turn and for the lock. */
  readonly waits: Durations
  /** Sizes of the files in bytes. */
  sizes(): { database: number; wal: number }
  /**
   * Closes after the waiting writes.
   *
   * @throws LostDiskError, leaving the files as they are: the process must end by `exitAtOnce`
   */
  close(): Promise<void>
}

/** For code that serves requests: it reads from a store, and writes only through `writeAs`. */
export type ReadStore = Pick<Store, 'read' | 'version'>

/** Does something in one transaction, on behalf of someone. */
export type Write = <T>(work: (tx: Queries) => Promise<T>) => Promise<T>

/**
 * Receives, within the transaction and at its end, what was created: either both are stored or neither is.
 *
 * @throws Error that rolls back the transaction
 */
export type Conclude<Result> = (tx: Queries, result: Result) => Promise<void>
