/** One user, and what an administrator can do about the account. */
import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { Section } from '../account/section.tsx'
import { SessionRow } from '../account/sessions.tsx'
import { api, dataOf, done, pageOf, type Schemas } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { useList } from '../api/use-list.ts'
import { describeScopes } from '../keys/scopes.ts'
import { Action } from '../parts/action.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { Head } from '../parts/head.tsx'
import { List } from '../parts/list.tsx'
import { Loading } from '../parts/loading.tsx'
import { ProvenForm } from '../parts/proven-form.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { words } from '../words/words.ts'
import { Invitation, RolePick, roleOf } from './users.tsx'

type Account = Schemas['Account']

const at = (id: number) => ({ params: { path: { id } } })
const refresh = () => queryClient.invalidateQueries({ queryKey: ['admin'] })

export function User({ id }: { id: number }) {
  const { users } = words
  const query = useQuery({
    queryKey: ['admin', 'user', id],
    queryFn: () => dataOf(api.GET('/api/v1/admin/users/{id}', at(id))),
  })
  const user = query.data
  if (!user) return query.isError ? <Trouble thrown={query.error} onRetry={() => query.refetch()} /> : <Loading />
  return (
    <>
      <nav aria-label={words.site.breadcrumb} class="breadcrumb small">
        <Link href="/admin/users">{users.title}</Link>
      </nav>
      <Head title={user.name} hint={user.email} />
      <div class="stack">
        <Change user={user} />
        <Access user={user} />
        <NewEmail user={user} />
        {user.two_factor_enabled && <ResetTwoFactor user={user} />}
        <Sessions user={user} />
        <Keys user={user} />
        <Delete user={user} />
      </div>
    </>
  )
}

type Props = { user: Account }

function Change({ user }: Props) {
  const { users } = words
  return (
    <section class="card pad form-card" aria-labelledby="change">
      <h2 id="change">{users.account}</h2>
      <Form
        submit={words.common.save}
        onSubmit={async ({ name = '', role }) => {
          const body = { name: name.trim(), role: roleOf(role) }
          await dataOf(api.PATCH('/api/v1/admin/users/{id}', { ...at(user.id), body }))
          await refresh()
        }}
      >
        <Field name="name" label={users.name} defaultValue={user.name} maxLength={100} autocomplete="off" />
        <RolePick role={user.role} />
      </Form>
    </section>
  )
}

/** Whether the user gets in: the switch, failed attempts, the first password. */
function Access({ user }: Props) {
  const { users } = words
  const [token, setToken] = useState<string>()
  const throttle = useQuery({
    queryKey: ['admin', 'user', user.id, 'throttle'],
    queryFn: () => dataOf(api.GET('/api/v1/admin/users/{id}/throttle', at(user.id))),
  })
  const isActive = user.status === 'active'
  const attempts = throttle.data?.failed_attempts ?? 0
  return (
    <section class="card pad stack" aria-labelledby="access">
      <h2 id="access">{users.access}</h2>
      <div class="row">
        <p class="grow">{isActive ? users.enabledHint : users.disabledHint}</p>
        <Action
          onAct={async () => {
            const body = { status: isActive ? ('disabled' as const) : ('active' as const) }
            await dataOf(api.PATCH('/api/v1/admin/users/{id}', { ...at(user.id), body }))
            await refresh()
          }}
        >
          {isActive ? users.disable : users.enable}
        </Action>
      </div>
      <div class="row">
        <p class="grow">{users.attempts(attempts)}</p>
        {attempts > 0 && (
          <Action
            onAct={async () => {
              await done(api.POST('/api/v1/admin/users/{id}/unlock', at(user.id)))
              await refresh()
            }}
          >
            {users.unlock}
          </Action>
        )}
      </div>
      <div class="row">
        <p class="grow">{users.activationHint}</p>
        <Action
          onAct={async () =>
            setToken((await dataOf(api.POST('/api/v1/admin/users/{id}/activation', at(user.id)))).token)
          }
        >
          {users.activation}
        </Action>
      </div>
      {token !== undefined && <Invitation token={token} email={user.email} />}
    </section>
  )
}

function NewEmail({ user }: Props) {
  const { users, account } = words
  return (
    <Section title={account.changeEmail} hint={users.emailHint} action={account.changeEmail}>
      {(close) => (
        <ProvenForm
          password="password"
          submit={account.changeEmail}
          onCancel={() => close()}
          onSubmit={async ({ email = '', password = '', ...code }) => {
            const body = { email: email.trim(), password, ...code }
            await done(api.POST('/api/v1/admin/users/{id}/email', { ...at(user.id), body }))
            close(users.emailChanged)
            await refresh()
          }}
        >
          <Field name="email" type="email" label={account.newEmail} autocomplete="off" required autofocus />
        </ProvenForm>
      )}
    </Section>
  )
}

function ResetTwoFactor({ user }: Props) {
  const { users, twoFactor } = words
  return (
    <Section title={twoFactor.switchOff} hint={users.resetHint} action={twoFactor.switchOff}>
      {(close) => (
        <ProvenForm
          password="password"
          tone="bad"
          submit={twoFactor.switchOff}
          onCancel={() => close()}
          onSubmit={async ({ password = '', ...code }) => {
            await done(api.POST('/api/v1/admin/users/{id}/2fa/reset', { ...at(user.id), body: { password, ...code } }))
            await refresh()
          }}
        >
          {null}
        </ProvenForm>
      )}
    </Section>
  )
}

function Sessions({ user }: Props) {
  const { sessions } = words
  const path = '/api/v1/admin/users/{id}/sessions' as const
  const list = useList(['admin', 'user', user.id, 'sessions'], (query) =>
    pageOf(api.GET(path, { params: { path: { id: user.id }, query } })),
  )
  return (
    <section class="card" aria-labelledby="sessions">
      <div class="bar">
        <h2 id="sessions" class="grow">
          {words.users.sessions}
        </h2>
        {list.items.length > 0 && (
          <Action
            onAct={async () => {
              await done(api.DELETE(path, at(user.id)))
              await refresh()
            }}
          >
            {sessions.endAll}
          </Action>
        )}
      </div>
      <List list={list} none={sessions.none}>
        {list.items.map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            onEnd={async () => {
              const params = { path: { id: user.id, session_id: session.id } }
              await done(api.DELETE('/api/v1/admin/users/{id}/sessions/{session_id}', { params })).catch(
                () => undefined,
              )
              await refresh()
            }}
          />
        ))}
      </List>
    </section>
  )
}

function Keys({ user }: Props) {
  const { keys } = words
  const list = useList(['admin', 'user', user.id, 'keys'], (query) =>
    pageOf(api.GET('/api/v1/admin/users/{id}/api-keys', { params: { path: { id: user.id }, query } })),
  )
  return (
    <section class="card" aria-labelledby="keys">
      <div class="bar">
        <h2 id="keys">{keys.title}</h2>
      </div>
      <List list={list} none={keys.none}>
        {list.items.map((key) => (
          <li key={key.id}>
            <div class="grow">
              <strong>{key.name}</strong> <code class="mute">{key.key_prefix}…</code>
              <p class="mute small">{describeScopes(key.scopes)}</p>
            </div>
            <Action
              label={`${keys.actions.delete}: ${key.name}`}
              onAct={async () => {
                const params = { path: { id: user.id, key_id: key.id } }
                await done(api.DELETE('/api/v1/admin/users/{id}/api-keys/{key_id}', { params }))
                await refresh()
              }}
            >
              {keys.actions.delete}
            </Action>
          </li>
        ))}
      </List>
    </section>
  )
}

function Delete({ user }: Props) {
  const { users } = words
  const [, navigate] = useLocation()
  const [isOpen, setOpen] = useState(false)
  return (
    <section class="card pad row" aria-labelledby="delete">
      <div class="grow">
        <h2 id="delete">{users.delete}</h2>
        <p class="mute">{users.deleteHint}</p>
      </div>
      <button type="button" class="btn bad" onClick={() => setOpen(true)}>
        {users.delete}
      </button>
      {isOpen && (
        <Confirm
          title={users.deleteTitle(user.name)}
          typed={user.email}
          submit={users.delete}
          onClose={() => setOpen(false)}
          onConfirm={async () => {
            await done(api.DELETE('/api/v1/admin/users/{id}', at(user.id)))
            navigate('/admin/users')
            await refresh()
          }}
        >
          <p>{users.goes}</p>
        </Confirm>
      )}
    </section>
  )
}
