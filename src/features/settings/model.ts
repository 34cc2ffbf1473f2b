/** What `/admin/settings` takes and gives. */
import { t } from 'elysia'
import { choice, closed, whole } from '../../http/schema.ts'
import {
  AUDIT_RETENTION_DAYS,
  JWT_TTL_SECONDS,
  REQUIRE_TWO_FACTOR,
  type SettingChanges,
  type SettingValues,
} from './settings.ts'

const jwtTtlSeconds = () => whole({ ...JWT_TTL_SECONDS, example: 86_400 })
const requireTwoFactor = () =>
  choice(REQUIRE_TWO_FACTOR, 'Of whom two-factor authentication is required: until enrolled, they can do nothing else')
const auditRetentionDays = () => whole({ ...AUDIT_RETENTION_DAYS, example: 365 })

export const ChangeSettings = closed({
  jwt_ttl_seconds: t.Optional(jwtTtlSeconds()),
  require_2fa: t.Optional(requireTwoFactor()),
  audit_retention_days: t.Optional(auditRetentionDays()),
})

export const SettingsModel = t.Object(
  {
    jwt_ttl_seconds: jwtTtlSeconds(),
    require_2fa: requireTwoFactor(),
    audit_retention_days: auditRetentionDays(),
  },
  { additionalProperties: false, title: 'Settings' },
)

export function toSettings(values: SettingValues) {
  return {
    jwt_ttl_seconds: values.jwtTtlSeconds,
    require_2fa: values.requireTwoFactor,
    audit_retention_days: values.auditRetentionDays,
  }
}

/** From the wire's names to the service's; what is absent stays absent. */
export function toSettingChanges(body: typeof ChangeSettings.static): SettingChanges {
  const { jwt_ttl_seconds: jwtTtlSeconds, require_2fa: requireTwoFactor } = body
  const { audit_retention_days: auditRetentionDays } = body
  return {
    ...(jwtTtlSeconds !== undefined && { jwtTtlSeconds }),
    ...(requireTwoFactor !== undefined && { requireTwoFactor }),
    ...(auditRetentionDays !== undefined && { auditRetentionDays }),
  }
}
