/** The tables. Times are milliseconds since the epoch; ids are never reused (AUTOINCREMENT). */
import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

export * from './audit-tables.ts'
export { settings, strangers } from './installation-tables.ts'

const id = () => integer().primaryKey({ autoIncrement: true })
const createdAt = () => integer('created_at').notNull()
const updatedAt = () => integer('updated_at').notNull()

export const users = sqliteTable(
  'users',
  {
    id: id(),
    /** Lower-case; the login identity. */
    email: text().notNull().unique(),
    name: text().notNull(),
    role: text({ enum: ['admin', 'customer'] }).notNull(),
    status: text({ enum: ['active', 'disabled'] }).notNull(),
    /** argon2id in PHC form; null until the user has set a password. */
    passwordHash: text('password_hash'),
    /** Sealed (AES-256-GCM) base32 seed, in force while `totpEnabledAt` is set. */
    totpSecret: text('totp_secret'),
    /** Sealed seed that waits for its first code. */
    totpPendingSecret: text('totp_pending_secret'),
    totpEnabledAt: integer('totp_enabled_at'),
    /** The last accepted RFC 6238 time step: each step is accepted once. */
    totpLastStep: integer('totp_last_step').notNull().default(0),
    /** Null until the first login. */
    lastLoginAt: integer('last_login_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('users_administrators').on(table.id).where(sql`role = 'admin'`)],
)

const userId = () =>
  integer('user_id')
    .notNull()
    .references(() => users.id, { onDelete: 'cascade' })

/** Addresses that a user has logged in from, or reset the password from: they have allowances of their own. */
export const knownAddresses = sqliteTable(
  'known_addresses',
  {
    userId: userId(),
    /** As the limits group them: an IPv4 address, or the /64 of an IPv6 one. */
    addressGroup: text('address_group').notNull(),
    /** 0 before the first login. */
    lastLoginAt: integer('last_login_at').notNull(),
    /** When a token from a reset email was last redeemed here by a user with two-factor authentication on. */
    resetAt: integer('reset_at'),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.addressGroup] }),
    index('known_addresses_last_login_at').on(table.lastLoginAt),
  ],
)

/** What an account has used up of its allowances: see `features/account/allowance.ts`. */
export const allowances = sqliteTable(
  'allowances',
  {
    userId: userId(),
    name: text().notNull(),
    /** When all uses will be forgotten. */
    emptyAt: integer('empty_at').notNull(),
    /** The time of the last use. */
    usedAt: integer('used_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.name] }), index('allowances_empty_at').on(table.emptyAt)],
)

export const recoveryCodes = sqliteTable(
  'recovery_codes',
  { userId: userId(), codeHash: text('code_hash').notNull() },
  (table) => [primaryKey({ columns: [table.userId, table.codeHash] })],
)

export const sessions = sqliteTable(
  'sessions',
  {
    id: id(),
    userId: userId(),
    /** The `jti` of the session's JWT. */
    tokenId: text('token_id').notNull().unique(),
    address: text().notNull(),
    userAgent: text('user_agent').notNull(),
    createdAt: createdAt(),
    lastSeenAt: integer('last_seen_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [index('sessions_user_id').on(table.userId), index('sessions_expires_at').on(table.expiresAt)],
)

export const apiKeys = sqliteTable(
  'api_keys',
  {
    id: id(),
    userId: userId(),
    name: text().notNull(),
    /** SHA-256 of the whole key, in hex. The key itself is stored nowhere. */
    keyHash: text('key_hash').notNull().unique(),
    keyPrefix: text('key_prefix').notNull(),
    createdAt: createdAt(),
    expiresAt: integer('expires_at'),
    lastUsedAt: integer('last_used_at'),
    /** A JSON array; null is everything that the user may do. */
    scopes: text(),
    /** A JSON array of CIDR ranges; null is everywhere. */
    allowedCidrs: text('allowed_cidrs'),
    /** The one subscription that the key sees; null is all of its user. */
    subscriptionId: integer('subscription_id').references(() => subscriptions.id, { onDelete: 'cascade' }),
    /** The secret before the last rotation, which works until `previousValidUntil`. */
    previousKeyHash: text('previous_key_hash').unique(),
    previousKeyPrefix: text('previous_key_prefix'),
    previousValidUntil: integer('previous_valid_until'),
    /** Of the emails before the expiry, the last that was sent or skipped, in days before. */
    noticedDays: integer('noticed_days'),
    /** Until when it may rotate itself, and how long it lives from each such rotation on; null for one that may not. */
    renewableUntil: integer('renewable_until'),
    lifetimeMs: integer('lifetime_ms'),
  },
  (table) => [
    index('api_keys_user_id').on(table.userId),
    index('api_keys_subscription_id').on(table.subscriptionId),
    index('api_keys_notices').on(table.noticedDays, table.expiresAt).where(sql`expires_at IS NOT NULL`),
  ],
)

/**
 * Single-use tokens with which a user sets a password: one activation, the newest, and a few resets, so that asking for
 * another, which anybody may, voids nothing. The first that is used voids all.
 */
export const passwordTokens = sqliteTable(
  'password_tokens',
  {
    id: id(),
    userId: userId(),
    purpose: text({ enum: ['activation', 'reset'] }).notNull(),
    /** SHA-256 of the token, in hex. */
    tokenHash: text('token_hash').notNull().unique(),
    createdAt: createdAt(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    index('password_tokens_user_purpose').on(table.userId, table.purpose),
    index('password_tokens_expires_at').on(table.expiresAt),
  ],
)

/** Work that waits for its worker: see `jobs/queue.ts`. A row is gone once it is done, or no longer worth doing. */
export const jobs = sqliteTable(
  'jobs',
  {
    id: id(),
    /** Whose worker does it, such as `email`. */
    kind: text().notNull(),
    /** JSON for that worker, its secrets sealed. */
    payload: text().notNull(),
    /** Of one topic one job waits, the newest. */
    topic: text(),
    attempts: integer().notNull().default(0),
    createdAt: createdAt(),
    /** Not done before; put off while a process has the lease, so that no other does it. */
    nextAttemptAt: integer('next_attempt_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    uniqueIndex('jobs_topic').on(table.kind, table.topic),
    index('jobs_next_attempt_at').on(table.kind, table.nextAttemptAt),
    index('jobs_expires_at').on(table.kind, table.expiresAt),
    index('jobs_tried').on(table.kind, table.createdAt).where(sql`attempts > 0`),
  ],
)

/** What a repeated request is answered (Idempotency-Key). */
export const idempotentAnswers = sqliteTable(
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
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.keyHash] }),
    index('idempotent_answers_expires_at').on(table.expiresAt),
  ],
)

export const subscriptions = sqliteTable(
  'subscriptions',
  {
    id: id(),
    userId: userId(),
    name: text().notNull(),
    status: text({ enum: ['active', 'suspended'] }).notNull(),
    isDefault: integer('is_default', { mode: 'boolean' }).notNull(),
    /** 0 means no limit. */
    maxSites: integer('max_sites').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('subscriptions_user_id').on(table.userId),
    uniqueIndex('subscriptions_one_default').on(table.userId).where(sql`is_default = 1`),
  ],
)

export const sites = sqliteTable(
  'sites',
  {
    id: id(),
    subscriptionId: integer('subscription_id')
      .notNull()
      .references(() => subscriptions.id, { onDelete: 'cascade' }),
    documentRoot: text('document_root').notNull(),
    phpVersion: text('php_version').notNull(),
    status: text({ enum: ['active', 'disabled'] }).notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('sites_subscription_id').on(table.subscriptionId)],
)

/** Every host name on the node, domains and aliases alike, so that one unique key covers both. */
export const siteDomains = sqliteTable(
  'site_domains',
  {
    /** Lower-case, punycode. */
    domain: text().primaryKey(),
    siteId: integer('site_id')
      .notNull()
      .references(() => sites.id, { onDelete: 'cascade' }),
    /** 0 is the site's domain, 1 and up are its aliases in order. */
    position: integer().notNull(),
  },
  (table) => [uniqueIndex('site_domains_site_position').on(table.siteId, table.position)],
)

/** New addresses that wait to be proven: one a user, the newest. */
export const emailChanges = sqliteTable('email_changes', {
  userId: integer('user_id')
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  /** Lower-case. */
  email: text().notNull(),
  /** SHA-256 of the token, in hex. */
  tokenHash: text('token_hash').notNull().unique(),
  /** The user's `updatedAt` when this was asked for: whatever was done to the account since makes it void. */
  userUpdatedAt: integer('user_updated_at').notNull().default(0),
  createdAt: createdAt(),
  expiresAt: integer('expires_at').notNull(),
})
