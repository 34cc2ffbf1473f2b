/** What `/admin/settings` takes and gives. */
import { t } from 'elysia'
import { choice, closed, whole } from '../../http/schema.ts'
import {
  AUDIT_RETENTION_DAYS,
  BACKUP_INTERVAL_HOURS,
  BACKUP_KEEP,
  JWT_TTL_SECONDS,
  MAX_API_KEYS,
  REQUIRE_TWO_FACTOR,
  type SettingChanges,
  type SettingValues,
} from './settings.ts'

const jwtTtlSeconds = () => whole({ ...JWT_TTL_SECONDS, example: 86_400 })
const requireTwoFactor = () =>
  choice(REQUIRE_TWO_FACTOR, 'Of whom two-factor authentication is required: until enrolled, they can do nothing else')
const auditRetentionDays = () => whole({ ...AUDIT_RETENTION_DAYS, example: 365 })
const backupIntervalHours = () =>
  whole({ ...BACKUP_INTERVAL_HOURS, example: 24, description: 'Hours between two backups; 0 makes none' })
const backupKeep = () => whole({ ...BACKUP_KEEP, example: 7, description: 'How many scheduled backups are kept' })
const maxApiKeys = () => whole({ ...MAX_API_KEYS, example: 50 })

export const ChangeSettings = closed({
  jwt_ttl_seconds: t.Optional(jwtTtlSeconds()),
  require_2fa: t.Optional(requireTwoFactor()),
  audit_retention_days: t.Optional(auditRetentionDays()),
  backup_interval_hours: t.Optional(backupIntervalHours()),
  backup_keep: t.Optional(backupKeep()),
  max_api_keys_per_user: t.Optional(maxApiKeys()),
})

export const SettingsModel = t.Object(
  {
    jwt_ttl_seconds: jwtTtlSeconds(),
    require_2fa: requireTwoFactor(),
    audit_retention_days: auditRetentionDays(),
    backup_interval_hours: backupIntervalHours(),
    backup_keep: backupKeep(),
    max_api_keys_per_user: maxApiKeys(),
  },
  { additionalProperties: false, title: 'Settings' },
)

export function toSettings(values: SettingValues) {
  return {
    jwt_ttl_seconds: values.jwtTtlSeconds,
    require_2fa: values.requireTwoFactor,
    audit_retention_days: values.auditRetentionDays,
    backup_interval_hours: values.backupIntervalHours,
    backup_keep: values.backupKeep,
    max_api_keys_per_user: values.maxApiKeys,
  }
}

/** From the wire's names to the service's; what is absent stays absent. */
export function toSettingChanges(body: typeof ChangeSettings.static): SettingChanges {
  const { jwt_ttl_seconds: jwtTtlSeconds, require_2fa: requireTwoFactor } = body
  const { backup_interval_hours: backupIntervalHours, backup_keep: backupKeep } = body
  const { audit_retention_days: auditRetentionDays, max_api_keys_per_user: maxApiKeys } = body
  return {
    ...(jwtTtlSeconds !== undefined && { jwtTtlSeconds }),
    ...(requireTwoFactor !== undefined && { requireTwoFactor }),
    ...(auditRetentionDays !== undefined && { auditRetentionDays }),
    ...(backupIntervalHours !== undefined && { backupIntervalHours }),
    ...(backupKeep !== undefined && { backupKeep }),
    ...(maxApiKeys !== undefined && { maxApiKeys }),
  }
}
