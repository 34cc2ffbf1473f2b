/** Reads the stored settings, for everything that depends on them. */
import type { Role } from '../core/principal.ts'
import { prepare } from '../db/statements.ts'
import type { Queries, ReadStore } from '../db/store.ts'
import { settings } from '../db/tables.ts'
import { createVersionCache } from '../db/version-cache.ts'
import { defaultSettings, type SettingValues } from './table.ts'

// Prepared: every login reads them if something was committed since the last, and transactions of callers may too.
const stored = prepare((queries) => queries.select().from(settings))

export type StoredSettings = ReturnType<typeof createStoredSettings>

/** Caches the settings until the next commit. */
export function createStoredSettings(store: ReadStore) {
  const cache = createVersionCache<SettingValues>(1)

  async function read(): Promise<SettingValues> {
    return cache.get(await store.version(), 'settings', () => readSettings(store.read))
  }

  return {
    read,

    /** Whether users of this role must have two-factor authentication enabled. */
    async isTwoFactorRequired(role: Role): Promise<boolean> {
      return requires(await read(), role)
    },

    /** Whether API keys created for self-rotation may use it. In a transaction, ask `isSelfRotationAllowed`. */
    async allowsSelfRotation(): Promise<boolean> {
      return (await read()).apiKeySelfRotation
    },
  }
}

/** As a transaction or the reading connection sees them, without the cache. */
export async function readSettings(queries: Queries): Promise<SettingValues> {
  const rows = await stored.all(queries)
  return { ...defaultSettings, ...Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)])) }
}

/** Whether users of this role must have two-factor authentication enabled, as a transaction sees it. */
export async function isTwoFactorRequired(queries: Queries, role: Role): Promise<boolean> {
  return requires(await readSettings(queries), role)
}

/** Whether creating, rotating or extending an API key takes a fresh code of the second factor. */
export async function isCodeRequired(queries: Queries): Promise<boolean> {
  return (await readSettings(queries)).requireCodeForApiKeys
}

/** Whether API keys created for self-rotation may use it, as a transaction sees it. */
export async function isSelfRotationAllowed(queries: Queries): Promise<boolean> {
  return (await readSettings(queries)).apiKeySelfRotation
}

function requires({ requireTwoFactor }: SettingValues, role: Role): boolean {
  return requireTwoFactor === 'everyone' || (requireTwoFactor === 'administrators' && role === 'admin')
}
