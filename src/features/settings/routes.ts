/** `/admin/settings`. */
import { Elysia } from 'elysia'
import { sendResource } from '../../http/conditional.ts'
import { envelope } from '../../http/envelope.ts'
import type { Guard } from '../../http/guard.ts'
import { operation } from '../../http/operation.ts'
import { ChangeSettings, SettingsModel, toSettings } from './model.ts'
import type { Settings } from './settings.ts'

const tag = 'Administration'

export function settingRoutes({ guard, settings }: { guard: Guard; settings: Settings }) {
  return new Elysia({ prefix: '/admin/settings' })
    .use(guard)
    .get(
      '',
      async ({ request, set, visit }) => sendResource({ request, set, visit }, toSettings(await settings.read())),
      {
        ...operation('admin', {
          id: 'getSettings',
          summary: 'Show the settings',
          tag,
          conditional: true,
          data: SettingsModel,
        }),
      },
    )
    .patch(
      '',
      async ({ body }) => {
        const changes = body.jwt_ttl_seconds === undefined ? {} : { jwtTtlSeconds: body.jwt_ttl_seconds }
        return envelope(toSettings(await settings.change(changes)), 'Settings changed')
      },
      {
        ...operation('admin', {
          id: 'changeSettings',
          summary: 'Change settings',
          description: 'A new `jwt_ttl_seconds` holds for tokens made from now on.',
          tag,
          body: true,
          data: SettingsModel,
          message: 'Settings changed',
        }),
        body: ChangeSettings,
      },
    )
}
