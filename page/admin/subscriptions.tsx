/** The subscriptions of all users: made, changed, suspended, deleted. */
import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, dataOf, done, newIdempotencyKey, pageOf, type Schemas } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { useList } from '../api/use-list.ts'
import { Action } from '../parts/action.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { Head } from '../parts/head.tsx'
import { Icon } from '../parts/icon.tsx'
import { List } from '../parts/list.tsx'
import { Check, Pick } from '../parts/pick.tsx'
import { words } from '../words/words.ts'

type Subscription = Schemas['Subscription']

const refresh = () => queryClient.invalidateQueries({ queryKey: ['admin'] })

/** Users by id. The list of subscriptions has ids alone. */
function useUsers() {
  const query = useQuery({
    queryKey: ['admin', 'users', 'choice'],
    queryFn: () => pageOf(api.GET('/api/v1/admin/users', { params: { query: { limit: 1000 } } })),
  })
  return query.data?.items ?? []
}

export function Subscriptions() {
  const { subscriptions } = words
  const [isOpen, setOpen] = useState(false)
  const users = useUsers()
  const list = useList(['admin', 'subscriptions'], (query) =>
    pageOf(api.GET('/api/v1/admin/subscriptions', { params: { query } })),
  )
  const ownerOf = ({ user_id }: Subscription) => users.find(({ id }) => id === user_id)?.email ?? `${user_id}`
  return (
    <>
      <Head title={subscriptions.title}>
        {!isOpen && (
          <button type="button" class="btn primary" onClick={() => setOpen(true)}>
            <Icon name="add" />
            {subscriptions.create}
          </button>
        )}
      </Head>
      <div class="stack">
        {isOpen && <NewSubscription users={users} onClose={() => setOpen(false)} />}
        <section class="card" aria-label={subscriptions.title}>
          <List list={list} none={subscriptions.none}>
            {list.items.map((one) => (
              <Row subscription={one} owner={ownerOf(one)} key={one.id} />
            ))}
          </List>
        </section>
      </div>
    </>
  )
}

function NewSubscription({ users, onClose }: { users: readonly Schemas['Account'][]; onClose(): void }) {
  const { subscriptions } = words
  const [key] = useState(newIdempotencyKey)
  return (
    <section class="card pad form-card" aria-labelledby="new-subscription">
      <h2 id="new-subscription">{subscriptions.create}</h2>
      <Form
        submit={subscriptions.create}
        onCancel={onClose}
        onSubmit={async ({ user_id, name = '', max_sites }) => {
          const body = { user_id: Number(user_id), name: name.trim(), max_sites: Number(max_sites) }
          await dataOf(
            api.POST('/api/v1/admin/subscriptions', { params: { header: { 'Idempotency-Key': key } }, body }),
          )
          onClose()
          await refresh()
        }}
      >
        <Pick
          name="user_id"
          label={subscriptions.owner}
          options={users.map(({ id, name, email }) => ({ value: id, label: `${name}, ${email}` }))}
        />
        <NameAndLimit />
      </Form>
    </section>
  )
}

function NameAndLimit({ name = '', max_sites = 10 }: { name?: string; max_sites?: number }) {
  const { subscriptions } = words
  return (
    <>
      <Field name="name" label={subscriptions.name} defaultValue={name} maxLength={100} autocomplete="off" required />
      <Field
        name="max_sites"
        type="number"
        label={subscriptions.limit}
        hint={subscriptions.limitHint}
        defaultValue={`${max_sites}`}
        min={0}
        max={1_000_000}
      />
    </>
  )
}

function Row({ subscription, owner }: { subscription: Subscription; owner: string }) {
  const { subscriptions } = words
  const { id, user_id, name, status, max_sites } = subscription
  const [open, setOpen] = useState<'none' | 'change' | 'delete'>('none')
  const isActive = status === 'active'
  const params = { path: { id } }
  const close = () => setOpen('none')
  return (
    <li>
      <div class="grow">
        <strong>{name}</strong> {!isActive && <span class="pill warn">{words.shell.suspended}</span>}
        <p class="mute small">
          <Link href={`/admin/users/${user_id}`}>{owner}</Link>,{' '}
          {max_sites === 0 ? subscriptions.unlimited : subscriptions.sites(max_sites)}
        </p>
      </div>
      <div class="actions">
        <button
          type="button"
          class="btn"
          aria-label={`${words.keys.actions.change}: ${name}`}
          onClick={() => setOpen('change')}
        >
          {words.keys.actions.change}
        </button>
        <Action
          label={`${isActive ? subscriptions.suspend : subscriptions.resume}: ${name}`}
          onAct={async () => {
            const body = { status: isActive ? ('suspended' as const) : ('active' as const) }
            await dataOf(api.PATCH('/api/v1/admin/subscriptions/{id}', { params, body }))
            await refresh()
          }}
        >
          {isActive ? subscriptions.suspend : subscriptions.resume}
        </Action>
        <button
          type="button"
          class="btn"
          aria-label={`${words.keys.actions.delete}: ${name}`}
          onClick={() => setOpen('delete')}
        >
          {words.keys.actions.delete}
        </button>
      </div>
      {open === 'change' && (
        <Dialog title={name} onClose={close}>
          <Form
            submit={words.common.save}
            onCancel={close}
            onSubmit={async (values) => {
              const body = { name: values.name?.trim() ?? '', max_sites: Number(values.max_sites) }
              await dataOf(api.PATCH('/api/v1/admin/subscriptions/{id}', { params, body }))
              close()
              await refresh()
            }}
          >
            <NameAndLimit name={name} max_sites={max_sites} />
          </Form>
        </Dialog>
      )}
      {open === 'delete' && (
        <Confirm
          title={subscriptions.deleteTitle(name)}
          typed={name}
          submit={words.keys.actions.delete}
          onClose={close}
          onConfirm={async ({ sites }) => {
            const query = sites === undefined ? {} : { delete_sites: 'true' as const }
            await done(api.DELETE('/api/v1/admin/subscriptions/{id}', { params: { ...params, query } }))
            close()
            await refresh()
          }}
        >
          <p>{subscriptions.goes}</p>
          <Check name="sites" label={subscriptions.deleteSites} />
        </Confirm>
      )}
    </li>
  )
}
