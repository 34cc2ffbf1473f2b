/** `/admin/settings`. */
import { Elysia } from 'elysia'
import { preconditionOf, sendChanged, sendResource } from '../../../http/conditional.ts'
import type { Guard } from '../../../http/guard.ts'
import { operation } from '../../../http/operation.ts'
import { callerOf } from '../../../http/visit.ts'
import { ChangeSettings, SettingsModel, toSettingChanges, toSettings } from './model.ts'
import type { Settings } from './settings.ts'

const tag = 'Settings'

export function settingRoutes({ guard, settings }: { guard: Guard; settings: Settings }) {
  return new Elysia({ prefix: '/admin/settings' })
    .use(guard)
    .get('', async ({ set, visit }) => sendResource({ set, visit }, toSettings(await settings.read())), {
      ...operation('admin', {
        id: 'getSettings',
        summary: 'Show the settings',
        scope: 'settings:read',
        tag,
        conditional: true,
        data: SettingsModel,
      }),
    })
    .patch(
      '',
      async ({ visit, body }) => {
        const precondition = preconditionOf(visit, toSettings)
        const values = await settings.change(callerOf(visit), toSettingChanges(body), precondition)
        return sendChanged(visit, toSettings(values), 'Settings changed')
      },
      {
        ...operation('admin', {
          id: 'changeSettings',
          summary: 'Change settings',
          description:
            'A new `jwt_ttl_seconds` holds for tokens made from now on, a new `require_2fa` at the next request of each user.',
          scope: 'settings:write',
          tag,
          body: true,
          guarded: true,
          data: SettingsModel,
          message: 'Settings changed',
        }),
        body: ChangeSettings,
      },
    )
}
