/** Creates a site. */
import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { api, dataOf, newIdempotencyKey, pageOf } from '../api/client.ts'
import { useIsAdmin } from '../api/me.ts'
import { queryClient } from '../api/queries.ts'
import { Field } from '../parts/field.tsx'
import { Form, type Values } from '../parts/form.tsx'
import { Pick } from '../parts/pick.tsx'
import { entriesOf, TextArea } from '../parts/text-area.tsx'
import { useTitle } from '../parts/title.ts'
import { useSubscription, useSubscriptions } from '../shell/subscription.tsx'
import { words } from '../words/words.ts'
import { KindFields, kindOf } from './kind-fields.tsx'

export function NewSite() {
  const [, navigate] = useLocation()
  const [key] = useState(newIdempotencyKey)
  const { newSite } = words
  useTitle(newSite.title)

  async function submit(values: Values) {
    const { domain = '', aliases, subscription_id } = values
    const body = {
      domain: domain.trim(),
      ...(aliases?.trim() && { aliases: entriesOf(aliases) }),
      ...kindOf(values),
      ...(subscription_id && { subscription_id: Number(subscription_id) }),
    }
    const params = { header: { 'Idempotency-Key': key } }
    const site = await dataOf(api.POST('/api/v1/sites', { params, body }))
    void queryClient.invalidateQueries({ queryKey: ['sites'] })
    navigate(`/sites/${site.id}`)
  }

  return (
    <>
      <div class="head">
        <div>
          <h1>{newSite.title}</h1>
          <p>{newSite.hint}</p>
        </div>
      </div>
      <section class="card pad form-card">
        <Form submit={newSite.submit} onSubmit={submit} onCancel={() => navigate('/sites')}>
          <Field
            name="domain"
            label={words.sites.domain}
            hint={newSite.domainHint}
            placeholder="www.example.com"
            inputMode="url"
            autocomplete="off"
            required
            autofocus
          />
          <TextArea name="aliases" label={newSite.aliases} hint={newSite.aliasesHint} rows={2} />
          <SubscriptionField />
          <KindFields />
        </Form>
      </section>
    </>
  )
}

/** A customer with one subscription has nothing to choose; an administrator has to name one. */
function SubscriptionField() {
  const isAdmin = useIsAdmin()
  const own = useSubscriptions() ?? []
  const current = useSubscription()
  const all = useQuery({
    queryKey: ['admin', 'subscriptions', 'choice'],
    enabled: isAdmin,
    queryFn: () => pageOf(api.GET('/api/v1/admin/subscriptions', { params: { query: { limit: 1000 } } })),
  })
  const choices = isAdmin ? (all.data?.items ?? []) : own
  if (!isAdmin && choices.length < 2) return <input type="hidden" name="subscription_id" value={current?.id ?? ''} />
  const nameOf = ({ id, name }: { id: number; name: string }) => (isAdmin ? `${name} (${id})` : name)
  return (
    <Pick
      name="subscription_id"
      label={words.shell.subscription}
      options={choices.map((one) => ({ value: one.id, label: nameOf(one) }))}
      {...(current && { defaultValue: current.id })}
    />
  )
}
