/** What an administrator sets for the whole installation. */
import type { Clock } from '../../core/clock.ts'
import type { Store } from '../../db/store.ts'
import { settings as table } from '../../db/tables.ts'
import { createVersionCache } from '../../db/version-cache.ts'

export type SettingValues = {
  /** How long a JWT is valid, in seconds: 60 to 2,592,000 (30 days). */
  jwtTtlSeconds: number
}

export const JWT_TTL_SECONDS = { minimum: 60, maximum: 2_592_000 }

const defaults: SettingValues = { jwtTtlSeconds: 86_400 }

export type Settings = ReturnType<typeof createSettings>

export function createSettings({ store, clock }: { store: Store; clock: Clock }) {
  const cache = createVersionCache<SettingValues>(store, 1)

  async function read(): Promise<SettingValues> {
    return cache.get('settings', async () => {
      const rows = await store.read.select().from(table)
      const stored = Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)]))
      return { ...defaults, ...stored }
    })
  }

  return {
    read,

    /** Changes the given values and leaves the others. Tokens that are out keep the validity they were given. */
    async change(changes: Partial<SettingValues>): Promise<SettingValues> {
      await store.write(async (tx) => {
        for (const [key, value] of Object.entries(changes)) {
          const row = { value: JSON.stringify(value), updatedAt: clock.now() }
          await tx
            .insert(table)
            .values({ key, ...row })
            .onConflictDoUpdate({ target: table.key, set: row })
        }
      })
      return read()
    },
  }
}
