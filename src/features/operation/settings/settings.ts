/** What an administrator sets for the whole installation. */
import { type Actor, requireWithoutScopes } from '../../../core/actor.ts'
import { changesNothing, differences } from '../../../core/changes.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Precondition } from '../../../core/precondition.ts'
import type { Role } from '../../../core/principal.ts'
import { prepare } from '../../../db/statements.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { settings as table } from '../../../db/tables.ts'
import { createVersionCache } from '../../../db/version-cache.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../audit/audit.ts'
import { defaultSettings, nameSettings, type SettingChanges, type SettingValues, settingEntries } from './table.ts'

// Prepared: every login asks, after the commit of another, and every transaction of a caller may.
const stored = prepare((queries) => queries.select().from(table))

export type SettingsOptions = { store: ReadStore; clock: Clock; audit: RecordAudit; writeAs: WriteAs }

export type Settings = ReturnType<typeof createSettings>

export function createSettings({ store, clock, audit, writeAs }: SettingsOptions) {
  const cache = createVersionCache<SettingValues>(store, 1)

  async function read(): Promise<SettingValues> {
    return cache.get('settings', () => readSettings(store.read))
  }

  return {
    read,

    /** Whether users of this role must have two-factor authentication on. */
    async isTwoFactorRequired(role: Role): Promise<boolean> {
      return requires(await read(), role)
    },

    /**
     * Changes the given values and leaves the others. Tokens that are out keep the validity they were given.
     *
     * @throws AppError `precondition_failed`, `forbidden` to a key with scopes for what protects credentials
     */
    async change(
      actor: Actor,
      wanted: SettingChanges,
      precondition?: Precondition<SettingValues>,
    ): Promise<SettingValues> {
      return writeAs(actor, async (tx, actor) => {
        for (const [key, { name, protective }] of settingEntries) {
          if (protective && wanted[key] !== undefined) requireWithoutScopes(actor, `change ${name}`)
        }
        const before = await readSettings(tx)
        precondition?.(before)
        const changes = differences(before, wanted)
        if (changesNothing(changes)) return before
        for (const [key, value] of Object.entries(changes)) {
          const row = { value: JSON.stringify(value), updatedAt: clock.now() }
          await tx
            .insert(table)
            .values({ key, ...row })
            .onConflictDoUpdate({ target: table.key, set: row })
        }
        await audit(tx, actor, { action: 'settings.change', accountId: null, details: nameSettings(changes) })
        return readSettings(tx)
      })
    },
  }
}

/** As a transaction sees them, or the reading connection, without what is remembered. */
export async function readSettings(queries: Queries): Promise<SettingValues> {
  const rows = await stored.all(queries)
  return { ...defaultSettings, ...Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)])) }
}

/** As the service's own, and as a transaction sees it. */
export async function isTwoFactorRequired(queries: Queries, role: Role): Promise<boolean> {
  return requires(await readSettings(queries), role)
}

/** Whether an API key is made, renewed or given a longer life with a fresh code alone. */
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
