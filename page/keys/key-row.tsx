/** One API key, what is worth a warning about it, and what can be done with it. */
import { useState } from 'preact/hooks'
import { api, dataOf, done, newIdempotencyKey, type Schemas } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { ProvenForm } from '../parts/proven-form.tsx'
import { Moment } from '../parts/time.tsx'
import { useSubscriptions } from '../shell/subscription.tsx'
import { formatDate, formatRelative } from '../words/format.ts'
import { words } from '../words/words.ts'
import type { CreatedKey } from './keys.tsx'
import { ExpiryField, expiryOf } from './new-key.tsx'
import { describeScopes } from './scopes.ts'

type ApiKey = Schemas['ApiKey']
type Open = 'none' | 'change' | 'rotate' | 'delete'

const DAY_MS = 86_400_000
const SOON_MS = 14 * DAY_MS
/** A key that may do everything and that nobody has used for so long is better gone. */
const UNUSED_MS = 90 * DAY_MS

const refresh = () => queryClient.invalidateQueries({ queryKey: ['keys'] })

function warningOf({ expires_at, last_used_at, created_at, scopes }: ApiKey) {
  const { keys } = words
  const left = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - Date.now()
  if (left <= 0) return { tone: 'bad', text: keys.expired }
  if (left < SOON_MS) return { tone: 'warn', text: keys.expires(formatRelative(`${expires_at}`)) }
  const unused = Date.now() - Date.parse(last_used_at ?? created_at) > UNUSED_MS
  return unused && scopes === undefined ? { tone: 'bad', text: keys.unused } : undefined
}

export function KeyRow({ apiKey, onRotated }: { apiKey: ApiKey; onRotated(key: CreatedKey): Promise<void> }) {
  const { keys } = words
  const [open, setOpen] = useState<Open>('none')
  const { name, key_prefix, scopes, allowed_cidrs, subscription_id, expires_at, last_used_at } = apiKey
  const warning = warningOf(apiKey)
  const subscription = useSubscriptions()?.find(({ id }) => id === subscription_id)
  const limits = [
    describeScopes(scopes),
    allowed_cidrs?.join(', ') ?? keys.anywhere,
    ...(subscription ? [subscription.name] : []),
  ]
  const close = () => setOpen('none')
  const actions = ['change', 'rotate', 'delete'] as const
  return (
    <li>
      <div class="grow">
        <strong>{name}</strong> <code class="mute">{key_prefix}…</code>
        <p class="mute small">{limits.join(' · ')}</p>
        <p class="small mute facts">
          {warning ? (
            <span class={`pill ${warning.tone}`}>{warning.text}</span>
          ) : (
            <span>{expires_at === null ? keys.neverExpires : keys.expires(formatDate(expires_at))}</span>
          )}
          <span>
            {last_used_at === null ? (
              keys.neverUsed
            ) : (
              <>
                {keys.used} <Moment at={last_used_at} />
              </>
            )}
          </span>
        </p>
      </div>
      <div class="actions">
        {actions.map((action) => (
          <button
            type="button"
            key={action}
            class="btn"
            aria-label={`${keys.actions[action]}: ${name}`}
            onClick={() => setOpen(action)}
          >
            {keys.actions[action]}
          </button>
        ))}
      </div>
      {open === 'change' && <Change apiKey={apiKey} onClose={close} />}
      {open === 'rotate' && <Rotate apiKey={apiKey} onClose={close} onRotated={onRotated} />}
      {open === 'delete' && (
        <Confirm
          title={keys.deleteTitle(name)}
          submit={keys.actions.delete}
          onClose={close}
          onConfirm={async () => {
            await done(api.DELETE('/api/v1/auth/api-keys/{id}', { params: { path: { id: apiKey.id } } }))
            close()
            await refresh()
          }}
        >
          <p>{keys.deleteHint}</p>
        </Confirm>
      )}
    </li>
  )
}

function Change({ apiKey, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const { keys } = words
  const [changesExpiry, setChangesExpiry] = useState(false)
  return (
    <Dialog title={apiKey.name} onClose={onClose}>
      <ProvenForm
        submit={words.common.save}
        onCancel={onClose}
        onSubmit={async ({ name = '', days, totp_code }) => {
          const expiry = changesExpiry ? { expires_at: null, ...expiryOf(days) } : {}
          const body = { name: name.trim(), ...expiry, ...(totp_code !== undefined && { totp_code }) }
          await dataOf(api.PATCH('/api/v1/auth/api-keys/{id}', { params: { path: { id: apiKey.id } }, body }))
          onClose()
          await refresh()
        }}
      >
        <Field name="name" label={keys.name} defaultValue={apiKey.name} maxLength={100} autocomplete="off" />
        {changesExpiry ? (
          <ExpiryField />
        ) : (
          <button type="button" class="linklike" onClick={() => setChangesExpiry(true)}>
            {keys.newExpiry}
          </button>
        )}
      </ProvenForm>
    </Dialog>
  )
}

type RotateProps = { apiKey: ApiKey; onClose(): void; onRotated(key: CreatedKey): Promise<void> }

function Rotate({ apiKey, onClose, onRotated }: RotateProps) {
  const { keys } = words
  const [idempotencyKey] = useState(newIdempotencyKey)
  return (
    <Dialog title={keys.rotateTitle(apiKey.name)} onClose={onClose}>
      <ProvenForm
        submit={keys.actions.rotate}
        onCancel={onClose}
        onSubmit={async ({ totp_code }) => {
          const params = { path: { id: apiKey.id }, header: { 'Idempotency-Key': idempotencyKey } }
          const body = { ...(totp_code !== undefined && { totp_code }) }
          const rotated = await dataOf(api.POST('/api/v1/auth/api-keys/{id}/rotate', { params, body }))
          onClose()
          await onRotated(rotated)
        }}
      >
        <p>{keys.rotateHint}</p>
      </ProvenForm>
    </Dialog>
  )
}
