/** What an administrator sets for the whole installation. */
import { type Actor, requireWithoutScopes } from '../../../core/actor.ts'
import { changesNothing, differences } from '../../../core/changes.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Precondition } from '../../../core/precondition.ts'
import type { Role } from '../../../core/principal.ts'
import { prepared } from '../../../db/prepared.ts'
import type { Queries, ReadStore } from '../../../db/store.ts'
import { settings as table } from '../../../db/tables.ts'
import { createVersionCache } from '../../../db/version-cache.ts'
import type { Language } from '../../../mail/wording.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../audit/audit.ts'
import type { Details } from '../audit/events.ts'

export type SettingValues = {
  /** How long a JWT is valid, in seconds: 60 to 2,592,000 (30 days). */
  jwtTtlSeconds: number
  /** Who must have two-factor authentication on. */
  requireTwoFactor: (typeof REQUIRE_TWO_FACTOR)[number]
  /** How long audit entries are kept, in days: 1 to 3,650. */
  auditRetentionDays: number
  /** Hours between two backups: 1 to 720; 0 makes none. */
  backupIntervalHours: number
  /** How many backups stay: 1 to 365. */
  backupKeep: number
  /** How many API keys a user may have: 1 to 10,000. */
  maxApiKeys: number
  /** Whether a user with two-factor authentication sends a fresh code to create, rotate or extend an API key. */
  requireCodeForApiKeys: boolean
  /** Whether an API key that was created for it may rotate itself. */
  apiKeySelfRotation: boolean
  /** What the panel is called in emails and authenticator apps; null for the host of its public URL. */
  panelName: string | null
  /** Of emails. */
  language: Language
  /** In which emails tell times: a name of the IANA's database. */
  timeZone: string
}
export type SettingChanges = Partial<SettingValues>

/** What each is called outside: in the API and in the audit log. */
export const SETTING_NAMES = {
  jwtTtlSeconds: 'jwt_ttl_seconds',
  requireTwoFactor: 'require_2fa',
  auditRetentionDays: 'audit_retention_days',
  backupIntervalHours: 'backup_interval_hours',
  backupKeep: 'backup_keep',
  maxApiKeys: 'max_api_keys_per_user',
  requireCodeForApiKeys: 'require_code_for_api_keys',
  apiKeySelfRotation: 'api_key_self_rotation',
  panelName: 'panel_name',
  language: 'language',
  timeZone: 'time_zone',
} as const satisfies Record<keyof SettingValues, string>

/** What protects credentials: an API key with scopes leaves these alone. */
const PROTECTIVE = [
  'requireTwoFactor',
  'requireCodeForApiKeys',
  'apiKeySelfRotation',
] as const satisfies (keyof SettingValues)[]

export const JWT_TTL_SECONDS = { minimum: 60, maximum: 2_592_000 }
export const REQUIRE_TWO_FACTOR = ['nobody', 'administrators', 'everyone'] as const
export const AUDIT_RETENTION_DAYS = { minimum: 1, maximum: 3650 }
export const BACKUP_INTERVAL_HOURS = { minimum: 0, maximum: 720 }
export const BACKUP_KEEP = { minimum: 1, maximum: 365 }
export const MAX_API_KEYS = { minimum: 1, maximum: 10_000 }

const defaults: SettingValues = {
  jwtTtlSeconds: 86_400,
  requireTwoFactor: 'nobody',
  auditRetentionDays: 365,
  backupIntervalHours: 24,
  backupKeep: 7,
  maxApiKeys: 50,
  requireCodeForApiKeys: false,
  apiKeySelfRotation: false,
  panelName: null,
  language: 'en',
  timeZone: 'UTC',
}

// Prepared: every login asks, after the commit of another, and every transaction of a caller may.
const stored = prepared((queries) => queries.select().from(table).prepare())

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
        for (const key of PROTECTIVE) {
          if (wanted[key] !== undefined) requireWithoutScopes(actor, `change ${SETTING_NAMES[key]}`)
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
        await audit(tx, actor, { action: 'settings.change', accountId: null, details: namedOutside(changes) })
        return readSettings(tx)
      })
    },
  }
}

/** The given settings under the names that they have outside. */
function namedOutside(changes: SettingChanges): Details {
  const given = Object.entries(changes) as [keyof SettingValues, Details[string]][]
  return Object.fromEntries(given.map(([key, value]) => [SETTING_NAMES[key], value]))
}

/** As a transaction sees them, or the reading connection, without what is remembered. */
export async function readSettings(queries: Queries): Promise<SettingValues> {
  const rows = await stored(queries).all()
  return { ...defaults, ...Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)])) }
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
