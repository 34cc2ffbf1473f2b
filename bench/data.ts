/** Data directories of a given size, made by the product's own migrations and filled by SQL, as fast as SQLite goes. */
import { Database } from 'bun:sqlite'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivateFile } from '../src/crypto/secret.ts'
import { migrations } from '../src/db/sqlite/migrations.ts'
import { openStore } from '../src/db/sqlite/store.ts'

export type Size = { keys: number; users: number; sites: number }

export const SMALL: Size = { keys: 100, users: 100, sites: 500 }
export const LARGE: Size = { keys: 1_000_000, users: 20_000, sites: 100_000 }

/** Every user of the data set has this one. */
export const PASSWORD = 'correct horse battery staple'
/** Keys whose text is known, from the first on; the others are filler. */
export const KNOWN_KEYS = 10_000
const SITES_PER_SUBSCRIPTION = 5

export const emailOf = (user: number) => `user${user}@example.com`
export const keyOf = (number: number) =>
  `ncp_${new Bun.CryptoHasher('sha256').update(`bench key ${number}`).digest('hex')}`

/**
 * @param directory where it is kept for the next run
 * @returns the data directory for `ncp serve`
 */
export async function makeData(directory: string, { keys, users, sites }: Size): Promise<string> {
  const path = join(directory, `schema-${migrations.length}`, `${keys}-keys-${users}-users-${sites}-sites`)
  if (existsSync(path)) return path
  const unfinished = `${path}.new`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  const file = join(unfinished, 'ncp.db')
  const now = Date.now()
  await openStore(file, now).close()

  const db = new Database(file, { strict: true })
  db.run('PRAGMA synchronous = OFF')
  const passwordHash = Bun.password.hashSync(PASSWORD, { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 })
  const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $count)'
  const subscriptions = Math.max(users, Math.ceil(sites / SITES_PER_SUBSCRIPTION))
  db.transaction(() => {
    db.query(
      `${numbers} INSERT INTO users (id, email, name, role, status, password_hash, created_at, updated_at)
       SELECT i, 'user' || i || '@example.com', 'User ' || i, 'customer', 'active', $passwordHash, $now, $now FROM n`,
    ).run({ count: users, passwordHash, now })
    db.query(
      `${numbers} INSERT INTO subscriptions (id, user_id, name, status, is_default, max_sites, created_at, updated_at)
       SELECT i, (i - 1) % $users + 1, 'Business', 'active', i <= $users, 0, $now, $now FROM n`,
    ).run({ count: subscriptions, users, now })
    db.query(
      `${numbers} INSERT INTO sites (id, subscription_id, kind, is_enabled, spa, is_deleting, generation, observed_generation, observed, document_root, created_at, updated_at)
       SELECT i, (i - 1) / $each + 1, 'static', 1, 0, 0, 1, 1, 'serving', '/srv/ncp/site' || i, $now, $now FROM n`,
    ).run({ count: sites, each: SITES_PER_SUBSCRIPTION, now })
    db.query(
      `${numbers} INSERT INTO site_domains (domain, site_id, position, reversed) SELECT 'site' || i || '.example.com', i, 0, 'com.example.site' || i || '.' FROM n`,
    ).run({ count: sites })
    const key = db.query(
      `INSERT INTO api_keys (user_id, name, key_hash, key_prefix, created_at) VALUES ($userId, 'Bench', $hash, $prefix, $now)`,
    )
    const known = Math.min(keys, KNOWN_KEYS)
    for (let number = 1; number <= known; number++) {
      const text = keyOf(number)
      const hash = new Bun.CryptoHasher('sha256').update(text).digest('hex')
      key.run({ userId: ((number - 1) % users) + 1, hash, prefix: text.slice(0, 20), now })
    }
    if (keys > known) {
      db.query(
        `${numbers} INSERT INTO api_keys (user_id, name, key_hash, key_prefix, created_at)
         SELECT i % $users + 1, 'Filler', hash, 'ncp_' || substr(hash, 1, 16), $now
         FROM (SELECT i, lower(hex(randomblob(32))) AS hash FROM n)`,
      ).run({ count: keys - known, users, now })
    }
  })()
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  // The secrets of an installation: without them the panel takes a filled database for one whose secrets are lost.
  for (const name of ['jwt.key', 'totp.key']) {
    const secret = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')
    writePrivateFile(join(unfinished, name), `${secret}\n`)
  }
  renameSync(unfinished, path)
  return path
}
