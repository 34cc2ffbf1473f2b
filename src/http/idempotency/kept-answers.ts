/** Keeps the response to a creation for a day, so that a repeat with the same Idempotency-Key creates nothing. */
import { and, eq, gt, lte, sql } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { createDailyBudget } from '../../core/daily-budget.ts'
import { AppError } from '../../core/errors.ts'
import type { SecretBox } from '../../crypto/secret-box.ts'
import { countUpTo } from '../../db/count.ts'
import type { Conclude, Queries, ReadStore } from '../../db/store.ts'
import { idempotentAnswers } from '../../db/tables.ts'

/** A request that its client may repeat (draft-ietf-httpapi-idempotency-key-header). */
export type RepeatableRequest = {
  userId: number
  /** SHA-256 of the client's key, in hex. */
  keyHash: string
  /** SHA-256 of everything the request asks for, in hex. */
  fingerprint: string
}

/** What a repeat gets: the same body, or advice if that held a secret that is not kept anywhere. */
export type KeptAnswer = { body: string } | { conflict: string }

export type Idempotency = ReturnType<typeof createIdempotency>

const TTL_MS = 24 * 60 * 60 * 1000
/** Kept per user at a time: an hour and a half of creating as fast as the rate limit allows. */
const MAX_ANSWERS = 10_000
/** All responses kept per user and day: a site has room for many long names, and can be deleted and recreated. */
const MAX_MEGABYTES = 8
const MEGABYTE = 1_000_000
/** Expired responses deleted whenever one is added. */
const SWEEP = 20

const isAnswer = ({ userId, keyHash }: { userId: number; keyHash: string }) =>
  and(eq(idempotentAnswers.userId, userId), eq(idempotentAnswers.keyHash, keyHash))

export type IdempotencyOptions = {
  store: ReadStore
  clock: Clock
  /** Rows that expired before this may be deleted for good. */
  deletableBefore(): number
  secretBox: SecretBox
}

export function createIdempotency({ store, clock, deletableBefore, secretBox }: IdempotencyOptions) {
  const budget = createDailyBudget(clock)

  /** @throws AppError `conflict` when the key belongs to another request */
  async function find({ userId, keyHash, fingerprint }: RepeatableRequest): Promise<KeptAnswer | undefined> {
    const [row] = await store.read
      .select()
      .from(idempotentAnswers)
      .where(
        and(
          eq(idempotentAnswers.userId, userId),
          eq(idempotentAnswers.keyHash, keyHash),
          gt(idempotentAnswers.expiresAt, clock.now()),
        ),
      )
    if (!row) return undefined
    if (row.fingerprint !== fingerprint) {
      throw new AppError('conflict', 'Idempotency-Key: was used for another request; choose a new one for each')
    }
    return JSON.parse(secretBox.open(row.answer, contextOf(row)))
  }

  /** @throws Error when the key exists already, which rolls back work done a second time */
  async function keep(tx: Queries, request: RepeatableRequest, answer: KeptAnswer): Promise<void> {
    const now = clock.now()
    const expired = await tx
      .select({ userId: idempotentAnswers.userId, keyHash: idempotentAnswers.keyHash })
      .from(idempotentAnswers)
      .where(lte(idempotentAnswers.expiresAt, deletableBefore()))
      .limit(SWEEP)
    for (const stale of expired) await tx.delete(idempotentAnswers).where(isAnswer(stale))
    // While the clock cannot be trusted, only the row that is in the way.
    await tx.delete(idempotentAnswers).where(and(isAnswer(request), lte(idempotentAnswers.expiresAt, now)))
    const isLive = and(eq(idempotentAnswers.userId, request.userId), gt(idempotentAnswers.expiresAt, now))
    const live = tx.select({ one: sql`1` }).from(idempotentAnswers).where(isLive)
    if ((await countUpTo(tx, live, MAX_ANSWERS)) >= MAX_ANSWERS) {
      throw new AppError(
        'conflict',
        `Idempotency-Key: at most ${MAX_ANSWERS} are kept per day; send the request without one`,
      )
    }
    const sealed = secretBox.seal(JSON.stringify(answer), contextOf(request))
    if (!budget.take(`${request.userId}`, sealed.length, MAX_MEGABYTES * MEGABYTE)) {
      throw new AppError(
        'conflict',
        `Idempotency-Key: at most ${MAX_MEGABYTES} MB of responses are kept per day; send the request without one`,
      )
    }
    await tx.insert(idempotentAnswers).values({ ...request, answer: sealed, createdAt: now, expiresAt: now + TTL_MS })
  }

  return {
    /**
     * Does `work` unless the request was answered before. Only success is kept: after an error, the client may retry.
     *
     * @param work passes what it created to `conclude`, in its transaction
     * @returns the result of `work`, or the response kept from an earlier request
     * @throws AppError `conflict`, and whatever `work` throws
     */
    async once<Result>(
      request: RepeatableRequest,
      work: (conclude: Conclude<Result>) => Promise<Result>,
      answerTo: (result: Result) => KeptAnswer,
    ): Promise<{ result: Result } | { kept: KeptAnswer }> {
      const before = await find(request)
      if (before) return { kept: before }
      let isKept = false
      try {
        const result = await work(async (tx, result) => {
          await keep(tx, request, answerTo(result))
          isKept = true
        })
        if (!isKept) throw new Error('what was created was not handed to conclude')
        return { result }
      } catch (error) {
        // Of two at once, the second may have failed because of what the first did.
        const kept = await find(request)
        if (kept) return { kept }
        throw error
      }
    },
  }
}

/** Binds a response to its request: moved to another row, it does not open. */
const contextOf = ({ userId, keyHash }: { userId: number; keyHash: string }) => `idempotency:${userId}:${keyHash}`
