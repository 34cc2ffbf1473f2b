/** Responses kept for repeats. Owner: http/idempotency. */
import { createdAt, index, primaryKey, table, text, timestamp } from '../columns.ts'
import { userId } from './users.ts'

/** The response to a repeated request (Idempotency-Key). */
export const idempotentAnswers = table(
  'idempotent_answers',
  {
    userId: userId(),
    /** SHA-256 of the client's key, in hex. */
    keyHash: text('key_hash').notNull(),
    /** SHA-256 of what the request asked for, in hex. */
    fingerprint: text().notNull(),
    /** Sealed (AES-256-GCM): it can hold an activation token, but never an API key. */
    answer: text().notNull(),
    createdAt: createdAt(),
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.keyHash] }),
    index('idempotent_answers_expires_at').on(table.expiresAt),
  ],
)
