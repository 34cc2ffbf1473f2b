/** `/admin/settings`: the settings of the installation. */
import { Elysia } from 'elysia'
import { preconditionOf, sendChanged, sendResource } from '../../../http/conditional.ts'
import type { Guard } from '../../../http/guard.ts'
import { type Call, operation } from '../../../http/operation.ts'
import { nameSettings, type SettingValues } from '../../../settings/table.ts'
import { ChangeSettings, SettingsModel, toSettingChanges } from './model.ts'
import type { Settings } from './settings.ts'

const tag = 'Settings'

const operations = {
  getSettings: operation('admin', {
    id: 'getSettings',
    summary: 'Show the settings',
    scope: 'settings:read',
    tag,
    conditional: true,
    data: SettingsModel,
  }),
  changeSettings: operation('admin', {
    id: 'changeSettings',
    summary: 'Change settings',
    description:
      'A new `jwt_ttl_seconds` applies to tokens issued from now on, a new `require_2fa` to the next request of each user.',
    scope: 'settings:write',
    tag,
    body: ChangeSettings,
    takesIfMatch: true,
    data: SettingsModel,
    message: 'Settings changed',
  }),
}

export function settingRoutes({ guard, settings }: { guard: Guard; settings: Settings }) {
  const getSettings = async ({ context }: Call<typeof operations.getSettings>) =>
    sendResource(context, nameSettings(await settings.read()))

  async function changeSettings({ caller, context, body }: Call<typeof operations.changeSettings>) {
    const precondition = preconditionOf(context, nameSettings<SettingValues>)
    const values = await settings.change(caller, toSettingChanges(body), precondition)
    return sendChanged(context, nameSettings(values), operations.changeSettings.message)
  }

  return new Elysia({ prefix: '/admin/settings' })
    .use(guard)
    .get('', getSettings, operations.getSettings)
    .patch('', changeSettings, operations.changeSettings)
}
