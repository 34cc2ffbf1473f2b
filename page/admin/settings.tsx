/** The settings of the panel. */
import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { api, dataOf, type Schemas, type Versioned, versionOf } from '../api/client.ts'
import { Field } from '../parts/field.tsx'
import { Form, type Values } from '../parts/form.tsx'
import { Head } from '../parts/head.tsx'
import { Loading } from '../parts/loading.tsx'
import { Note } from '../parts/note.tsx'
import { Check, Pick } from '../parts/pick.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { LANGUAGES, words } from '../words/words.ts'

type PanelSettings = Schemas['Settings']

const HOUR = 3600

const read = () => versionOf(api.GET('/api/v1/admin/settings'))

export function Settings() {
  const { settings } = words
  const query = useQuery({ queryKey: ['admin', 'settings'], queryFn: read, refetchOnWindowFocus: false })
  return (
    <>
      <Head title={settings.title} />
      {query.isPending && <Loading />}
      {query.isError && <Trouble thrown={query.error} onRetry={() => query.refetch()} />}
      {query.data && <Change initial={query.data} />}
    </>
  )
}

function Change({ initial }: { initial: Versioned<PanelSettings> }) {
  const { settings } = words
  const [{ value, etag }, setCurrent] = useState(initial)
  const [isSaved, setSaved] = useState(false)

  async function submit(values: Values) {
    setSaved(false)
    const number = (name: string) => Number(values[name])
    const panelName = values.panel_name?.trim() ?? ''
    const body = {
      jwt_ttl_seconds: Math.round(number('hours') * HOUR),
      require_2fa: values.require_2fa as 'nobody' | 'administrators' | 'everyone',
      audit_retention_days: number('audit_retention_days'),
      backup_interval_hours: number('backup_interval_hours'),
      backup_keep: number('backup_keep'),
      max_api_keys_per_user: number('max_api_keys_per_user'),
      require_code_for_api_keys: values.require_code_for_api_keys !== undefined,
      api_key_self_rotation: values.api_key_self_rotation !== undefined,
      panel_name: panelName === '' ? null : panelName,
      language: values.language as 'en' | 'de',
      time_zone: values.time_zone?.trim() ?? '',
    }
    await dataOf(api.PATCH('/api/v1/admin/settings', { params: { header: { 'If-Match': etag } }, body }))
    setCurrent(await read())
    setSaved(true)
  }

  const count = (name: 'audit_retention_days' | 'backup_interval_hours' | 'backup_keep' | 'max_api_keys_per_user') => (
    <Field name={name} type="number" label={settings[name]} defaultValue={`${value[name]}`} min={0} />
  )
  return (
    <section class="card pad form-card" aria-label={settings.title}>
      {isSaved && <Note tone="ok" title={settings.saved} />}
      <Form submit={words.common.save} onSubmit={submit}>
        <Field name="panel_name" label={settings.panel_name} defaultValue={value.panel_name ?? ''} maxLength={100} />
        <Pick
          name="language"
          label={settings.language}
          defaultValue={value.language}
          options={Object.entries(LANGUAGES).map(([code, label]) => ({ value: code, label }))}
        />
        <Field
          name="time_zone"
          label={settings.time_zone}
          hint={settings.timeZoneHint}
          defaultValue={value.time_zone}
        />
        <Field
          name="hours"
          type="number"
          step="any"
          label={settings.hours}
          hint={settings.hoursHint}
          defaultValue={`${value.jwt_ttl_seconds / HOUR}`}
        />
        <Pick
          name="require_2fa"
          label={settings.require_2fa}
          defaultValue={value.require_2fa}
          options={(['nobody', 'administrators', 'everyone'] as const).map((one) => ({
            value: one,
            label: settings.whom[one],
          }))}
        />
        <Check
          name="require_code_for_api_keys"
          label={settings.require_code_for_api_keys}
          defaultChecked={value.require_code_for_api_keys}
        />
        <Check
          name="api_key_self_rotation"
          label={settings.api_key_self_rotation}
          defaultChecked={value.api_key_self_rotation}
        />
        {count('max_api_keys_per_user')}
        {count('audit_retention_days')}
        {count('backup_interval_hours')}
        {count('backup_keep')}
      </Form>
    </section>
  )
}
