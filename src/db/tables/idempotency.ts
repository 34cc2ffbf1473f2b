/** Answers to be repeated. Owner: http/idempotency. */
import { createdAt, index, primaryKey, table, text, timestamp } from '../columns.ts'
import { userId } from './users.ts'

/** What a repeated request is answered (Idempotency-Key). */
export const idempotentAnswers = table(
  'idempotent_answers',
  {
    userId: userId(),
    /** SHA-256 of the key that the client chose, in hex. */
    keyHash: text('key_hash').notNull(),
    /** SHA-256 of what was asked for, in hex. */
    fingerprint: text().notNull(),
    /** Sealed (AES-256-GCM): it may hold an activation token. An API key it never holds. */
    answer: text().notNull(),
    createdAt: createdAt(),
    expiresAt: timestamp('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.keyHash] }),
    index('idempotent_answers_expires_at').on(table.expiresAt),
  ],
)
