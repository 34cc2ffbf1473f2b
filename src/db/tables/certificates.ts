/** Certificates of sites, and how the names stand that should have one. Owner: features/hosting/certificates. */
import { createdAt, flag, id, index, integer, table, text, timestamp } from '../columns.ts'
import { sites } from './sites.ts'

/** Requested from an authority, issued by one, or uploaded. */
export const certificates = table(
  'certificates',
  {
    id: id(),
    siteId: integer('site_id')
      .notNull()
      .references(() => sites.id, { onDelete: 'cascade' }),
    source: text({ enum: ['acme', 'uploaded'] }).notNull(),
    /** JSON: the names in it, of an uploaded one wildcards too. */
    names: text().notNull(),
    /** The node's request in base64 (DER); null until it has made one, and for an uploaded certificate. */
    csr: text(),
    /** PEM, the certificate first; null until it is issued. */
    chain: text(),
    /** Of an uploaded one: its private key. Any other key never leaves its node. */
    sealedKey: text('sealed_key'),
    /** SHA-256 of the certificate, in hex. */
    fingerprint: text(),
    issuer: text(),
    notBefore: timestamp('not_before'),
    notAfter: timestamp('not_after'),
    /** Whether its node has seen it served. */
    isServed: flag('is_served').notNull(),
    createdAt: createdAt(),
  },
  (table) => [index('certificates_site').on(table.siteId)],
)

/**
 * By name and not by site: what failed for a name fails for the next site of that name too, and authorities count by name.
 * A name without a failure has no row.
 */
export const certificateNames = table(
  'certificate_names',
  {
    name: text().primaryKey(),
    /** `ordering` counts as a failure until it succeeds, so that a crash in the middle is one. */
    state: text({ enum: ['unverified', 'ordering', 'failed'] }).notNull(),
    /** In words for its customer. */
    reason: text(),
    /** In a row. */
    failures: integer().notNull(),
    /** Not before then. */
    retryAt: timestamp('retry_at').notNull(),
    attemptedAt: timestamp('attempted_at').notNull(),
  },
  (table) => [index('certificate_names_retry').on(table.retryAt)],
)

/** What a node is to answer under `/.well-known/acme-challenge/`, for minutes. */
export const certificateChallenges = table(
  'certificate_challenges',
  {
    token: text().primaryKey(),
    siteId: integer('site_id')
      .notNull()
      .references(() => sites.id, { onDelete: 'cascade' }),
    answer: text().notNull(),
    /** Whether its node answers so, as reported. */
    isInPlace: flag('is_in_place').notNull(),
    createdAt: createdAt(),
  },
  (table) => [index('certificate_challenges_site').on(table.siteId)],
)

/** When to look at a site again. A trigger writes 0 when a site gets a name. */
export const certificateWork = table(
  'certificate_work',
  {
    siteId: integer('site_id')
      .primaryKey()
      .references(() => sites.id, { onDelete: 'cascade' }),
    dueAt: timestamp('due_at').notNull(),
  },
  (table) => [index('certificate_work_due').on(table.dueAt)],
)
