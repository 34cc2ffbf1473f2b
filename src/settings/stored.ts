/** Reads the stored settings, for everything that depends on them. */
import type { Role } from '../core/principal.ts'
import { prepare } from '../db/statements.ts'
import type { Queries, ReadStore } from '../db/store.ts'
import { settings } from '../db/tables.ts'
import { createVersionCache } from '../db/version-cache.ts'
import { defaultSettings, type SettingValues } from './table.ts'

// Prepared: every login asks, after the commit of another, and every transaction of a caller may.
const stored = prepare((queries) => queries.select().from(settings))

export type StoredSettings = ReturnType<typeof createStoredSettings>

/** Remembers the settings for as long as nothing is committed. */
export function createStoredSettings(store: ReadStore) {
  const cache = createVersionCache<SettingValues>(1)

  async function read(): Promise<SettingValues> {
    return cache.get(await store.version(), 'settings', () => readSettings(store.read))
  }

  return {
    read,

    /** Whether users of this role must have two-factor authentication on. */
    async isTwoFactorRequired(role: Role): Promise<boolean> {
      return requires(await read(), role)
    },
  }
}

/** As a transaction sees them, or the reading connection, without what is remembered. */
export async function readSettings(queries: Queries): Promise<SettingValues> {
  const rows = await stored.all(queries)
  return { ...defaultSettings, ...Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)])) }
}

/** Whether users of this role must have two-factor authentication on, as a transaction sees it. */
export async function isTwoFactorRequired(queries: Queries, role: Role): Promise<boolean> {
  return requires(await readSettings(queries), role)
}

/** Whether creating an API key, rotating one and extending its life take a fresh code of the second factor. */
export async function isCodeRequired(queries: Queries): Promise<boolean> {
  return (await readSettings(queries)).requireCodeForApiKeys
}

/** Whether an API key that was created for it may rotate itself. */
export async function isSelfRotationAllowed(queries: Queries): Promise<boolean> {
  return (await readSettings(queries)).apiKeySelfRotation
}

function requires({ requireTwoFactor }: SettingValues, role: Role): boolean {
  return requireTwoFactor === 'everyone' || (requireTwoFactor === 'administrators' && role === 'admin')
}
