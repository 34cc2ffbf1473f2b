/** Changes what an administrator sets for the whole installation. */
import { type Actor, requireWithoutScopes } from '../../../core/actor.ts'
import { changesNothing, differences } from '../../../core/changes.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Precondition } from '../../../core/precondition.ts'
import { settings as table } from '../../../db/tables.ts'
import { readSettings, type StoredSettings } from '../../../settings/stored.ts'
import { nameSettings, type SettingChanges, type SettingValues, settingEntries } from '../../../settings/table.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../audit/audit.ts'

export type SettingsOptions = { read: StoredSettings['read']; clock: Clock; audit: RecordAudit; writeAs: WriteAs }

export type Settings = ReturnType<typeof createSettings>

export function createSettings({ read, clock, audit, writeAs }: SettingsOptions) {
  return {
    read,

    /**
     * Changes the given values and leaves the others. Tokens already issued keep their validity.
     *
     * @throws AppError `precondition_failed`, `forbidden` if a key with scopes changes what protects credentials
     */
    async change(
      actor: Actor,
      wanted: SettingChanges,
      precondition?: Precondition<SettingValues>,
    ): Promise<SettingValues> {
      return writeAs(actor, async (tx, actor) => {
        for (const [key, { name, protective }] of settingEntries) {
          if (protective && wanted[key] !== undefined) requireWithoutScopes(actor, `change ${name}`)
        }
        const before = await readSettings(tx)
        precondition?.(before)
        const changes = differences(before, wanted)
        if (changesNothing(changes)) return before
        for (const [key, value] of Object.entries(changes)) {
          const row = { value: JSON.stringify(value), updatedAt: clock.now() }
          await tx
            .insert(table)
            .values({ key, ...row })
            .onConflictDoUpdate({ target: table.key, set: row })
        }
        await audit(tx, actor, { action: 'settings.change', accountId: null, details: nameSettings(changes) })
        return readSettings(tx)
      })
    },
  }
}
