/** Keeps the response to a creation for a day, so that a request repeated with its Idempotency-Key creates nothing. */
import { and, eq, gt, lte, sql } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { createDailyBudget } from '../../core/daily-budget.ts'
import { AppError } from '../../core/errors.ts'
import type { SecretBox } from '../../crypto/secret-box.ts'
import { countUpTo } from '../../db/count.ts'
import type { Conclude, Queries, ReadStore } from '../../db/store.ts'
import { idempotentAnswers } from '../../db/tables.ts'

/** A request that its client may send again (draft-ietf-httpapi-idempotency-key-header). */
export type RepeatableRequest = {
  userId: number
  /** SHA-256 of the key that the client chose, in hex. */
  keyHash: string
  /** SHA-256 of everything that the request asks for, in hex. */
  fingerprint: string
}

/** What a repetition gets: the same body, or what to do where that held a secret that is kept nowhere. */
export type KeptAnswer = { body: string } | { conflict: string }

export type Idempotency = ReturnType<typeof createIdempotency>

const TTL_MS = 24 * 60 * 60 * 1000
/** Kept for a user at a time: an hour and a half of creating as fast as the rate limit allows. */
const MAX_ANSWERS = 10_000
/** Of all answers that are kept for a user in a day: a site has room for many long names, and can be deleted and created again. */
const MAX_MEGABYTES = 8
const MEGABYTE = 1_000_000
/** Expired answers deleted when one is added. */
const SWEEP = 20

const isAnswer = ({ userId, keyHash }: { userId: number; keyHash: string }) =>
  and(eq(idempotentAnswers.userId, userId), eq(idempotentAnswers.keyHash, keyHash))

export type IdempotencyOptions = {
  store: ReadStore
  clock: Clock
  /** What expired before may be deleted for good. */
  deletableBefore(): number
  secretBox: SecretBox
}

export function createIdempotency({ store, clock, deletableBefore, secretBox }: IdempotencyOptions) {
  const budget = createDailyBudget(clock)

  /** @throws AppError `conflict` when the key stands for another request */
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

  /** @throws Error when the key is there already, which rolls back what was just done a second time */
  async function keep(tx: Queries, request: RepeatableRequest, answer: KeptAnswer): Promise<void> {
    const now = clock.now()
    const expired = await tx
      .select({ userId: idempotentAnswers.userId, keyHash: idempotentAnswers.keyHash })
      .from(idempotentAnswers)
      .where(lte(idempotentAnswers.expiresAt, deletableBefore()))
      .limit(SWEEP)
    for (const stale of expired) await tx.delete(idempotentAnswers).where(isAnswer(stale))
    // Where the clock cannot be believed, only the one that stands in the way.
    await tx.delete(idempotentAnswers).where(and(isAnswer(request), lte(idempotentAnswers.expiresAt, now)))
    const isLive = and(eq(idempotentAnswers.userId, request.userId), gt(idempotentAnswers.expiresAt, now))
    const live = tx.select({ one: sql`1` }).from(idempotentAnswers).where(isLive)
    if ((await countUpTo(tx, live, MAX_ANSWERS)) >= MAX_ANSWERS) {
      throw new AppError('conflict', `Idempotency-Key: at most ${MAX_ANSWERS} are kept a day; go on without`)
    }
    const sealed = secretBox.seal(JSON.stringify(answer), contextOf(request))
    if (!budget.take(`${request.userId}`, sealed.length, MAX_MEGABYTES * MEGABYTE)) {
      throw new AppError(
        'conflict',
        `Idempotency-Key: at most ${MAX_MEGABYTES} MB of answers are kept a day; go on without`,
      )
    }
    await tx.insert(idempotentAnswers).values({ ...request, answer: sealed, createdAt: now, expiresAt: now + TTL_MS })
  }

  return {
    /**
     * Does `work` unless the request was answered before. Only success is kept: after an error, the client may try again.
     *
     * @param work hands what it created to `conclude`, in its transaction
     * @returns the answer, and whether it is that of an earlier request
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
        // Of two at once, the second may have failed for what the first has done.
        const kept = await find(request)
        if (kept) return { kept }
        throw error
      }
    },
  }
}

/** Binds an answer to its request: moved to another row it does not open. */
const contextOf = ({ userId, keyHash }: { userId: number; keyHash: string }) => `idempotency:${userId}:${keyHash}`
