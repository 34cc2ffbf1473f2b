/** The audit log, which `ncp audit verify` holds against its migrations. Owner: features/operation/audit. */
import { sql } from 'drizzle-orm'
import { id, index, integer, table, text, timestamp } from '../columns.ts'

/**
 * What happened, in order and for good: triggers in the migration refuse every change, and every deletion but that of
 * the oldest entries, up to the horizon. No foreign keys: an entry outlives what it tells of.
 */
export const auditLog = table(
  'audit_log',
  {
    id: id(),
    createdAt: timestamp('created_at').notNull(),
    /** Who did it; null for a stranger, the command line and the panel itself. */
    actorId: integer('actor_id'),
    credentialKind: text('credential_kind', { enum: ['jwt', 'api_key', 'none', 'operator', 'panel'] }).notNull(),
    /** Of the session or the API key. */
    credentialId: integer('credential_id'),
    address: text(),
    requestId: text('request_id'),
    action: text().notNull(),
    /** Whose account it concerns: the customer who may read it. */
    accountId: integer('account_id'),
    targetType: text('target_type'),
    targetId: integer('target_id'),
    result: text({ enum: ['success', 'failure', 'refused'] }).notNull(),
    /** The `error` that the client was sent, where there was one. */
    reason: text(),
    /** How often, where failures and refusals are summed up. */
    times: integer().notNull(),
    /** A JSON object of what else there is to know, never a secret. */
    details: text().notNull(),
    /** SHA-256 of the entry and of the hash before it, in hex: see `features/operation/audit/chain.ts`. */
    hash: text().notNull(),
  },
  (table) => [
    // Each is followed by the id, as every index is: a list by account, actor or action is read in its order.
    index('audit_log_actor_id').on(table.actorId),
    index('audit_log_actor_id_action').on(table.actorId, table.action),
    index('audit_log_actor_id_alone').on(table.actorId).where(sql`account_id IS NULL`),
    index('audit_log_actor_id_alone_action').on(table.actorId, table.action).where(sql`account_id IS NULL`),
    index('audit_log_account_id').on(table.accountId),
    index('audit_log_account_id_action').on(table.accountId, table.action),
    index('audit_log_action').on(table.action),
  ],
)

/**
 * Entries that are dated before the entry before them, because the clock was put back: between two of these, times only
 * grow with ids, so that an entry is found by its time without an index on it.
 */
export const auditClockSteps = table('audit_clock_steps', {
  entryId: integer('entry_id').primaryKey(),
})

/** One row: the newest entry, so that it shows when the end of the log is cut off. Triggers let it go forward alone. */
export const auditHead = table('audit_head', {
  id: integer().primaryKey(),
  /** 0 before the first entry. */
  entryId: integer('entry_id').notNull(),
  hash: text().notNull(),
})

/** One row, once old entries have been deleted: the last of them, on which the chain goes on. */
export const auditHorizon = table('audit_horizon', {
  id: integer().primaryKey(),
  entryId: integer('entry_id').notNull(),
  hash: text().notNull(),
})

/**
 * What an account has done beyond its budget of entries, counted until the sum of it becomes an entry: in the transaction
 * of what it counts, so that nothing is lost in between.
 */
export const auditSums = table(
  'audit_sums',
  {
    id: id(),
    /** Of all that is the same in what is summed up, as JSON. */
    key: text().notNull().unique(),
    accountId: integer('account_id').notNull(),
    actorId: integer('actor_id'),
    credentialKind: text('credential_kind', { enum: ['jwt', 'api_key', 'none', 'operator', 'panel'] }).notNull(),
    credentialId: integer('credential_id'),
    address: text(),
    action: text().notNull(),
    targetType: text('target_type'),
    firstTargetId: integer('first_target_id'),
    lastTargetId: integer('last_target_id'),
    firstAt: timestamp('first_at').notNull(),
    lastAt: timestamp('last_at').notNull(),
    times: integer().notNull(),
  },
  (table) => [index('audit_sums_account_id').on(table.accountId), index('audit_sums_first_at').on(table.firstAt)],
)
