/** The schemas of `/admin/settings`, made from the table of settings. */
import { type TSchema, t } from 'elysia'
import { choice, closed, flag, integer, label, nullableIn, text } from '../../../http/schema.ts'
import { isTimeZone } from '../../../mail/wording.ts'
import { type NamedSettings, type Setting, type SettingChanges, settingEntries } from '../../../settings/table.ts'

function schemaOf(setting: Setting): TSchema {
  const { description } = setting
  const described = description === undefined ? {} : { description }
  switch (setting.kind) {
    case 'integer': {
      const { minimum, maximum, default: example } = setting
      return integer({ minimum, maximum, example, ...described })
    }
    case 'flag':
      return flag(description)
    case 'choice':
      return choice(setting.values, description)
    case 'label':
      return nullableIn(label([setting.example]), { examples: [setting.example], description: description ?? '' })
    case 'timeZone':
      return text({
        minLength: 1,
        maxLength: 64,
        examples: ['Europe/Berlin'],
        rule: 'must be a time zone such as Europe/Berlin or UTC',
        obeys: isTimeZone,
        ...described,
      })
  }
}

const schemas = Object.fromEntries(settingEntries.map(([, setting]) => [setting.name, schemaOf(setting)]))

export const ChangeSettings = t.Unsafe<Partial<NamedSettings>>(
  closed(Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, t.Optional(schema)]))),
)

export const SettingsModel = t.Object(schemas, { additionalProperties: false, title: 'Settings' })

/** From API names to the service's; absent fields stay absent. */
export function toSettingChanges(body: Partial<NamedSettings>): SettingChanges {
  const given = settingEntries.filter(([, { name }]) => body[name] !== undefined)
  return Object.fromEntries(given.map(([key, { name }]) => [key, body[name]]))
}
