/** API keys. Owner: features/account/api-keys. */
import { sql } from 'drizzle-orm'
import { createdAt, id, index, integer, table, text, timestamp } from '../columns.ts'
import { subscriptions } from './subscriptions.ts'
import { userId } from './users.ts'

export const apiKeys = table(
  'api_keys',
  {
    id: id(),
    userId: userId(),
    name: text().notNull(),
    /** SHA-256 of the whole key, in hex. The key itself is not stored anywhere. */
    keyHash: text('key_hash').notNull().unique(),
    keyPrefix: text('key_prefix').notNull(),
    createdAt: createdAt(),
    expiresAt: timestamp('expires_at'),
    lastUsedAt: timestamp('last_used_at'),
    /** A JSON array; null allows everything that the user may do. */
    scopes: text(),
    /** A JSON array of CIDR ranges; null allows every address. */
    allowedCidrs: text('allowed_cidrs'),
    /** The one subscription that the key sees; null for all of its user's. */
    subscriptionId: integer('subscription_id').references(() => subscriptions.id, { onDelete: 'cascade' }),
    /** A JSON array of site ids, all of that subscription; null for all of its sites. */
    sites: text(),
    /** The secret before the last rotation, which works until `previousValidUntil`. */
    previousKeyHash: text('previous_key_hash').unique(),
    previousKeyPrefix: text('previous_key_prefix'),
    previousValidUntil: timestamp('previous_valid_until'),
    /** The last expiry email sent or not worth sending, as its number of days before the expiry. */
    noticedDays: integer('noticed_days'),
    /** The end of its right to rotate itself, and the lifetime after each such rotation; null without the right. */
    renewableUntil: timestamp('renewable_until'),
    lifetimeMs: integer('lifetime_ms'),
  },
  (table) => [
    index('api_keys_user_id').on(table.userId),
    index('api_keys_subscription_id').on(table.subscriptionId),
    index('api_keys_notices').on(table.noticedDays, table.expiresAt).where(sql`expires_at IS NOT NULL`),
  ],
)
