/** What `/admin/settings` takes and gives. */
import { t } from 'elysia'
import { closed, whole } from '../../http/schema.ts'
import { JWT_TTL_SECONDS, type SettingValues } from './settings.ts'

const jwtTtlSeconds = () => whole({ ...JWT_TTL_SECONDS, example: 86_400 })

export const ChangeSettings = closed({ jwt_ttl_seconds: t.Optional(jwtTtlSeconds()) })

export const SettingsModel = t.Object(
  { jwt_ttl_seconds: jwtTtlSeconds() },
  { additionalProperties: false, title: 'Settings' },
)

export function toSettings(values: SettingValues) {
  return { jwt_ttl_seconds: values.jwtTtlSeconds }
}
