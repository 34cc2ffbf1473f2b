/** What `/admin/settings` takes and gives. */
import { t } from 'elysia'
import { choice, closed, whole } from '../../http/schema.ts'
import {
  AUDIT_RETENTION_DAYS,
  BACKUP_INTERVAL_HOURS,
  BACKUP_KEEP,
  JWT_TTL_SECONDS,
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

export const ChangeSettings = closed({
  jwt_ttl_seconds: t.Optional(jwtTtlSeconds()),
  require_2fa: t.Optional(requireTwoFactor()),
  audit_retention_days: t.Optional(auditRetentionDays()),
  backup_interval_hours: t.Optional(backupIntervalHours()),
  backup_keep: t.Optional(backupKeep()),
})

export const SettingsModel = t.Object(
  {
    jwt_ttl_seconds: jwtTtlSeconds(),
    require_2fa: requireTwoFactor(),
    audit_retention_days: auditRetentionDays(),
    backup_interval_hours: backupIntervalHours(),
    backup_keep: backupKeep(),
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
  }
}

/** From the wire's names to the service's; what is absent stays absent. */
export function toSettingChanges(body: typeof ChangeSettings.static): SettingChanges {
  const { jwt_ttl_seconds: jwtTtlSeconds, require_2fa: requireTwoFactor } = body
  const { audit_retention_days: auditRetentionDays } = body
  const { backup_interval_hours: backupIntervalHours, backup_keep: backupKeep } = body
  return {
    ...(jwtTtlSeconds !== undefined && { jwtTtlSeconds }),
    ...(requireTwoFactor !== undefined && { requireTwoFactor }),
    ...(auditRetentionDays !== undefined && { auditRetentionDays }),
    ...(backupIntervalHours !== undefined && { backupIntervalHours }),
    ...(backupKeep !== undefined && { backupKeep }),
  }
}
