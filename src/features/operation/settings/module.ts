/** The settings of the installation, for administrators to change. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../audit/audit.ts'
import { settingRoutes } from './routes.ts'
import { createSettings } from './settings.ts'

export type SettingsNeeds = Platform & { audit: RecordAudit; writeAs: WriteAs }

export function settingsModule({ clock, storedSettings, audit, writeAs }: SettingsNeeds) {
  const settings = createSettings({ read: storedSettings.read, clock, audit, writeAs })
  return {
    services: { settings },
    routes: ({ guard }) => [settingRoutes({ guard, settings })],
  } satisfies Module
}
