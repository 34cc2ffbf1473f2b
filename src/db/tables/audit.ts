/** The audit log, whose migrations `ncp audit verify` checks. Owner: features/operation/audit. */
import { sql } from 'drizzle-orm'
import { id, index, integer, table, text, timestamp } from '../columns.ts'

export const CREDENTIAL_KINDS = ['jwt', 'api_key', 'node', 'none', 'operator', 'panel'] as const

/**
 * What happened, in order and for good: triggers in the migration refuse every change, and every deletion but that of
 * the oldest entries, up to the horizon. No foreign keys: an entry outlives what it is about.
 */
export const auditLog = table(
  'audit_log',
  {
    id: id(),
    createdAt: timestamp('created_at').notNull(),
    /** The user who did it; null for a stranger, a node, the command line and the panel itself. */
    actorId: integer('actor_id'),
    credentialKind: text('credential_kind', { enum: CREDENTIAL_KINDS }).notNull(),
    /** The id of the session, API key or node. */
    credentialId: integer('credential_id'),
    address: text(),
    requestId: text('request_id'),
    action: text().notNull(),
    /** The account it concerns, whose customer may read it. */
    accountId: integer('account_id'),
    targetType: text('target_type'),
    targetId: integer('target_id'),
    result: text({ enum: ['success', 'failure', 'refused'] }).notNull(),
    /** The `error` sent to the client, if there was one. */
    reason: text(),
    /** How many times, for summed-up failures and refusals. */
    times: integer().notNull(),
    /** A JSON object with further details, never a secret. */
    details: text().notNull(),
    /** SHA-256 of the entry and the previous hash, in hex: see `features/operation/audit/chain.ts`. */
    hash: text().notNull(),
  },
  (table) => [
    // Like every index, each ends with the id: a list by account, actor or action is read in its order.
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
 * Entries dated before the previous entry, because the clock was set back: between two of these, times only grow with
 * ids, so an entry can be found by its time without an index on it.
 */
export const auditClockSteps = table('audit_clock_steps', {
  entryId: integer('entry_id').primaryKey(),
})

/** One row: the newest entry, so that cutting off the end of the log shows. Triggers let it only move forward. */
export const auditHead = table('audit_head', {
  id: integer().primaryKey(),
  /** 0 before the first entry. */
  entryId: integer('entry_id').notNull(),
  hash: text().notNull(),
})

/** One row, once old entries have been deleted: the last deleted one, from which the chain continues. */
export const auditHorizon = table('audit_horizon', {
  id: integer().primaryKey(),
  entryId: integer('entry_id').notNull(),
  hash: text().notNull(),
})

/**
 * What an account did beyond its budget of entries, counted until the sum becomes an entry: in the transaction that did
 * it, so that no count is lost in between.
 */
export const auditSums = table(
  'audit_sums',
  {
    id: id(),
    /** What the summed-up events have in common, as JSON. */
    key: text().notNull().unique(),
    accountId: integer('account_id').notNull(),
    actorId: integer('actor_id'),
    credentialKind: text('credential_kind', { enum: CREDENTIAL_KINDS }).notNull(),
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
