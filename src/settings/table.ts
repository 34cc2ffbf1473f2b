/** Every setting of an installation, declared once: its name in the API, its allowed values and its default. */
import { LANGUAGES } from '../mail/wording.ts'

type Common = {
  /** The setting's public name: in the API and in the audit log. */
  name: string
  description?: string
  /** Whether it protects credentials: an API key with scopes may not change it. */
  protective?: true
}

type Kinds =
  | { kind: 'integer'; minimum: number; maximum: number; default: number }
  | { kind: 'flag'; default: boolean }
  | { kind: 'choice'; values: readonly string[]; default: string }
  | { kind: 'label'; example: string; default: null }
  | { kind: 'timeZone'; default: string }

export type Setting = Common & Kinds

export const settingTable = {
  jwtTtlSeconds: {
    name: 'jwt_ttl_seconds',
    kind: 'integer',
    // One minute to 30 days.
    minimum: 60,
    maximum: 2_592_000,
    default: 86_400,
  },
  requireTwoFactor: {
    name: 'require_2fa',
    kind: 'choice',
    values: ['nobody', 'administrators', 'everyone'],
    default: 'nobody',
    description: 'Who must use two-factor authentication: until enrolled, they can do nothing else',
    protective: true,
  },
  auditRetentionDays: {
    name: 'audit_retention_days',
    kind: 'integer',
    minimum: 1,
    maximum: 3650,
    default: 365,
  },
  backupIntervalHours: {
    name: 'backup_interval_hours',
    kind: 'integer',
    minimum: 0,
    maximum: 720,
    default: 24,
    description: 'Hours between two backups; 0 turns them off',
  },
  backupKeep: {
    name: 'backup_keep',
    kind: 'integer',
    minimum: 1,
    maximum: 365,
    default: 7,
    description: 'How many scheduled backups are kept',
  },
  maxApiKeys: {
    name: 'max_api_keys_per_user',
    kind: 'integer',
    minimum: 1,
    maximum: 10_000,
    default: 50,
  },
  requireCodeForApiKeys: {
    name: 'require_code_for_api_keys',
    kind: 'flag',
    default: false,
    description:
      'Whether a user with two-factor authentication on sends a fresh `totp_code` to create, rotate or extend an API key',
    protective: true,
  },
  apiKeySelfRotation: {
    name: 'api_key_self_rotation',
    kind: 'flag',
    default: false,
    description: 'Whether API keys that were created with `can_rotate` may rotate themselves',
    protective: true,
  },
  panelName: {
    name: 'panel_name',
    kind: 'label',
    example: 'Example Hosting',
    default: null,
    description: 'What emails and authenticator apps call the panel; null for the host of its public URL',
  },
  language: {
    name: 'language',
    kind: 'choice',
    values: LANGUAGES,
    default: 'en',
    description: 'The language of emails',
  },
  timeZone: {
    name: 'time_zone',
    kind: 'timeZone',
    default: 'UTC',
    description: 'The time zone of times in emails',
  },
  siteLogDays: {
    name: 'site_log_days',
    kind: 'integer',
    minimum: 1,
    maximum: 365,
    default: 14,
    description: 'How many days the logs of sites are kept',
  },
  siteLogAddresses: {
    name: 'site_log_addresses',
    kind: 'choice',
    values: ['full', 'shortened'],
    default: 'full',
    description:
      "Visitors' addresses in the logs of sites: whole, or cut to their network, a /24 of IPv4 or a /48 of IPv6, before they are written",
  },
} as const satisfies Record<string, Setting>

type Table = typeof settingTable
export type SettingKey = keyof Table

type ValueOf<S extends Setting> = S extends { kind: 'integer' }
  ? number
  : S extends { kind: 'flag' }
    ? boolean
    : S extends { kind: 'choice' }
      ? S['values'][number]
      : S extends { kind: 'label' }
        ? string | null
        : string

export type SettingValues = { [Key in SettingKey]: ValueOf<Table[Key]> }
export type SettingChanges = Partial<SettingValues>
/** The same, under their public names. */
export type NamedSettings = { [Key in SettingKey as Table[Key]['name']]: SettingValues[Key] }

/** All rows of the table, in its order. */
export const settingEntries = Object.entries(settingTable) as [SettingKey, Setting & { name: keyof NamedSettings }][]

export const defaultSettings = Object.fromEntries(
  settingEntries.map(([key, setting]) => [key, setting.default]),
) as SettingValues

/** Absent settings stay absent. */
export function nameSettings<Values extends SettingChanges>(values: Values) {
  const given = settingEntries.filter(([key]) => values[key] !== undefined)
  return Object.fromEntries(given.map(([key, { name }]) => [name, values[key]])) as Values extends SettingValues
    ? NamedSettings
    : Partial<NamedSettings>
}
