/** What `/admin/settings` takes and gives. */
import { t } from 'elysia'
import { choice, closed, flag, integer, label, nullableIn, text } from '../../../http/schema.ts'
import { isTimeZone, LANGUAGES } from '../../../mail/wording.ts'
import {
  AUDIT_RETENTION_DAYS,
  BACKUP_INTERVAL_HOURS,
  BACKUP_KEEP,
  JWT_TTL_SECONDS,
  MAX_API_KEYS,
  REQUIRE_TWO_FACTOR,
  SETTING_NAMES,
  type SettingChanges,
  type SettingValues,
} from './settings.ts'

const jwtTtlSeconds = () => integer({ ...JWT_TTL_SECONDS, example: 86_400 })
const requireTwoFactor = () =>
  choice(REQUIRE_TWO_FACTOR, 'Of whom two-factor authentication is required: until enrolled, they can do nothing else')
const auditRetentionDays = () => integer({ ...AUDIT_RETENTION_DAYS, example: 365 })
const backupIntervalHours = () =>
  integer({ ...BACKUP_INTERVAL_HOURS, example: 24, description: 'Hours between two backups; 0 makes none' })
const backupKeep = () => integer({ ...BACKUP_KEEP, example: 7, description: 'How many scheduled backups are kept' })
const maxApiKeys = () => integer({ ...MAX_API_KEYS, example: 50 })
const requireCodeForApiKeys = () =>
  flag(
    'Whether a user with two-factor authentication on sends a fresh `totp_code` to create, rotate or extend an API key',
  )

const apiKeySelfRotation = () => flag('Whether API keys that were created with `can_rotate` may rotate themselves')

const panelName = () =>
  nullableIn(label(['Example Hosting']), {
    examples: ['Example Hosting'],
    description: 'What emails and authenticator apps call the panel; null for the host of its public URL',
  })
const language = () => choice(LANGUAGES, 'Of emails')
const timeZone = () =>
  text({
    minLength: 1,
    maxLength: 64,
    examples: ['Europe/Berlin'],
    description: 'The time zone of times in emails',
    rule: 'must be a time zone such as Europe/Berlin or UTC',
    obeys: isTimeZone,
  })

export const ChangeSettings = closed({
  jwt_ttl_seconds: t.Optional(jwtTtlSeconds()),
  require_2fa: t.Optional(requireTwoFactor()),
  audit_retention_days: t.Optional(auditRetentionDays()),
  backup_interval_hours: t.Optional(backupIntervalHours()),
  backup_keep: t.Optional(backupKeep()),
  max_api_keys_per_user: t.Optional(maxApiKeys()),
  require_code_for_api_keys: t.Optional(requireCodeForApiKeys()),
  api_key_self_rotation: t.Optional(apiKeySelfRotation()),
  panel_name: t.Optional(panelName()),
  language: t.Optional(language()),
  time_zone: t.Optional(timeZone()),
})

export const SettingsModel = t.Object(
  {
    jwt_ttl_seconds: jwtTtlSeconds(),
    require_2fa: requireTwoFactor(),
    audit_retention_days: auditRetentionDays(),
    backup_interval_hours: backupIntervalHours(),
    backup_keep: backupKeep(),
    max_api_keys_per_user: maxApiKeys(),
    require_code_for_api_keys: requireCodeForApiKeys(),
    api_key_self_rotation: apiKeySelfRotation(),
    panel_name: panelName(),
    language: language(),
    time_zone: timeZone(),
  },
  { additionalProperties: false, title: 'Settings' },
)

const wireNames = Object.entries(SETTING_NAMES) as [keyof SettingValues, keyof typeof SettingsModel.static][]

export function toSettings(values: SettingValues) {
  const named = wireNames.map(([key, name]) => [name, values[key]])
  return Object.fromEntries(named) as typeof SettingsModel.static
}

/** From the wire's names to the service's; what is absent stays absent. */
export function toSettingChanges(body: typeof ChangeSettings.static): SettingChanges {
  const given = wireNames.filter(([, name]) => body[name] !== undefined)
  return Object.fromEntries(given.map(([key, name]) => [key, body[name]]))
}
