/** Makes an API key, with no more rights than it needs and an end. */
import { useState } from 'preact/hooks'
import { api, dataOf, newIdempotencyKey } from '../api/client.ts'
import { useIsAdmin } from '../api/me.ts'
import { Field } from '../parts/field.tsx'
import type { Values } from '../parts/form.tsx'
import { Check, Pick } from '../parts/pick.tsx'
import { ProvenForm } from '../parts/proven-form.tsx'
import { entriesOf, TextArea } from '../parts/text-area.tsx'
import { useSubscriptions } from '../shell/subscription.tsx'
import { words } from '../words/words.ts'
import type { CreatedKey } from './keys.tsx'
import { describeScopes, type Preset, type Scope, scopesFor, scopesOf } from './scopes.ts'

const DAY_MS = 86_400_000
/** Days until it expires; none is forever. */
const TERMS = [30, 90, 365, 0] as const

export function expiryOf(days: string | undefined): { expires_at?: string | null } {
  const count = Number(days ?? 0)
  return count === 0 ? {} : { expires_at: new Date(Date.now() + count * DAY_MS).toISOString() }
}

export function ExpiryField() {
  const { keys } = words
  return (
    <Pick
      name="days"
      label={keys.expiry}
      defaultValue={90}
      options={TERMS.map((days) => ({ value: days, label: days === 0 ? keys.never : keys.inDays(days) }))}
    />
  )
}

export function NewKey({ onCreated, onCancel }: { onCreated(key: CreatedKey): Promise<void>; onCancel(): void }) {
  const { keys } = words
  const isAdmin = useIsAdmin()
  const [preset, setPreset] = useState<Preset>('deploy')
  const [idempotencyKey] = useState(newIdempotencyKey)
  const subscriptions = useSubscriptions() ?? []
  const offered = scopesFor(isAdmin)

  async function submit(values: Values & { totp_code?: string }) {
    const { name = '', days, addresses, subscription_id, totp_code } = values
    const chosen = offered.filter((scope) => values[`scope ${scope}`] !== undefined)
    const scopes: Scope[] | undefined = preset === 'custom' ? chosen : scopesOf(preset, isAdmin)
    const cidrs = entriesOf(addresses)
    const body = {
      name: name.trim(),
      ...expiryOf(days),
      ...(scopes && { scopes }),
      ...(cidrs.length > 0 && { allowed_cidrs: cidrs }),
      ...(subscription_id && { subscription_id: Number(subscription_id) }),
      ...(totp_code !== undefined && { totp_code }),
    }
    const params = { header: { 'Idempotency-Key': idempotencyKey } }
    await onCreated(await dataOf(api.POST('/api/v1/auth/api-keys', { params, body })))
  }

  return (
    <section class="card pad form-card" aria-labelledby="new-key">
      <h2 id="new-key">{keys.create}</h2>
      <ProvenForm submit={keys.submit} onSubmit={submit} onCancel={onCancel}>
        <Field
          name="name"
          label={keys.name}
          hint={keys.nameHint}
          maxLength={100}
          autocomplete="off"
          required
          autofocus
        />
        <Pick
          name="preset"
          label={keys.rightsLabel}
          value={preset}
          onChange={(value) => setPreset(value as Preset)}
          hint={preset === 'custom' ? keys.customHint : describeScopes(scopesOf(preset, isAdmin))}
          options={(['deploy', 'read', 'everything', 'custom'] as const).map((value) => ({
            value,
            label: keys.presets[value],
          }))}
        />
        {preset === 'custom' && (
          <fieldset class="checks">
            <legend class="label">{keys.presets.custom}</legend>
            {offered.map((scope) => (
              <Check key={scope} name={`scope ${scope}`} label={describeScopes([scope])} hint={scope} />
            ))}
          </fieldset>
        )}
        <ExpiryField />
        {subscriptions.length > 1 && (
          <Pick
            name="subscription_id"
            label={words.shell.subscription}
            options={[
              { value: '', label: keys.allSubscriptions },
              ...subscriptions.map(({ id, name }) => ({ value: id, label: name })),
            ]}
          />
        )}
        <TextArea
          name="addresses"
          label={`${keys.addresses} (${words.common.optional})`}
          hint={keys.addressesHint}
          rows={2}
        />
      </ProvenForm>
    </section>
  )
}
