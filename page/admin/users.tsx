/** All users: found by email, and invited. */
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, dataOf, newIdempotencyKey, pageOf, type Schemas } from '../api/client.ts'
import { useList } from '../api/use-list.ts'
import { base } from '../base.ts'
import { Copy } from '../parts/copy.tsx'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { Head } from '../parts/head.tsx'
import { Icon } from '../parts/icon.tsx'
import { List } from '../parts/list.tsx'
import { Note } from '../parts/note.tsx'
import { Pick } from '../parts/pick.tsx'
import { useSettled } from '../parts/use-settled.ts'
import { words } from '../words/words.ts'

type Account = Schemas['Account']

export function Users() {
  const { users } = words
  const [text, setText] = useState('')
  const [isOpen, setOpen] = useState(false)
  const [invited, setInvited] = useState<Schemas['InvitedAccount']>()
  const email = useSettled(text.trim())
  const list = useList(['admin', 'users', email], (cursor) =>
    pageOf(api.GET('/api/v1/admin/users', { params: { query: { ...(email !== '' && { email }), ...cursor } } })),
  )
  return (
    <>
      <Head title={users.title}>
        {!isOpen && (
          <button type="button" class="btn primary" onClick={() => setOpen(true)}>
            <Icon name="add" />
            {users.invite}
          </button>
        )}
      </Head>
      <div class="stack">
        {invited && <Invitation token={invited.activation.token} email={invited.email} />}
        {isOpen && (
          <NewUser
            onCancel={() => setOpen(false)}
            onCreated={async (user) => {
              setInvited(user)
              setOpen(false)
              await list.query.refetch()
            }}
          />
        )}
        <section class="card" aria-label={users.title}>
          <div class="bar">
            <input
              class="input"
              type="search"
              aria-label={users.search}
              placeholder={users.search}
              value={text}
              maxLength={254}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          </div>
          <List list={list} none={users.none}>
            {list.items.map((user) => (
              <Row user={user} key={user.id} />
            ))}
          </List>
        </section>
      </div>
    </>
  )
}

function Row({ user: { id, name, email, role, status, two_factor_enabled } }: { user: Account }) {
  const { users } = words
  return (
    <li>
      <div class="grow">
        <Link href={`/admin/users/${id}`}>{name}</Link>
        <p class="mute small">{email}</p>
      </div>
      {role === 'admin' && <span class="pill">{users.roles.admin}</span>}
      {two_factor_enabled && <span class="pill ok">{users.twoFactor}</span>}
      {status !== 'active' && <span class="pill warn">{users.disabled}</span>}
    </li>
  )
}

/** The link that an email would have, for a panel without one, or for another way to send it. */
export function Invitation({ token, email }: { token: string; email: string }) {
  const { users } = words
  return (
    <section class="card pad stack" aria-label={users.invited(email)}>
      <Note tone="ok" title={users.invited(email)}>
        <p>{users.invitedHint}</p>
      </Note>
      <Copy text={`${location.origin}${base}/activate#token=${token}`} label={users.link} />
    </section>
  )
}

type NewUserProps = { onCreated(user: Schemas['InvitedAccount']): Promise<void>; onCancel(): void }

function NewUser({ onCreated, onCancel }: NewUserProps) {
  const { users, login } = words
  const [key] = useState(newIdempotencyKey)
  return (
    <section class="card pad form-card" aria-labelledby="new-user">
      <h2 id="new-user">{users.invite}</h2>
      <Form
        submit={users.invite}
        onCancel={onCancel}
        onSubmit={async ({ email = '', name = '', role }) => {
          const body = { email: email.trim(), name: name.trim(), role: roleOf(role) }
          const params = { header: { 'Idempotency-Key': key } }
          await onCreated(await dataOf(api.POST('/api/v1/admin/users', { params, body })))
        }}
      >
        <Field name="email" type="email" label={login.email} autocomplete="off" required autofocus />
        <Field name="name" label={users.name} maxLength={100} autocomplete="off" required />
        <RolePick />
      </Form>
    </section>
  )
}

/** As the API takes it. */
export const roleOf = (value: string | undefined): 'admin' | 'customer' => (value === 'admin' ? 'admin' : 'customer')

export function RolePick({ role = 'customer' }: { role?: string }) {
  const { users } = words
  return (
    <Pick
      name="role"
      label={users.role}
      defaultValue={role}
      options={(['customer', 'admin'] as const).map((value) => ({ value, label: users.roles[value] }))}
    />
  )
}
