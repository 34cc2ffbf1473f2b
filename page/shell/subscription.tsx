/** Which of several subscriptions the page is about. */
import { useQuery } from '@tanstack/preact-query'
import { api, pageOf, type Schemas } from '../api/client.ts'
import { useIsAdmin } from '../api/me.ts'
import { observed, useObserved } from '../observed.ts'
import { words } from '../words/words.ts'

export type Subscription = Schemas['Subscription']

const KEY = 'ncp.subscription'
const chosen = observed(Number(sessionStorage.getItem(KEY) ?? 0))

export function useSubscriptions(): readonly Subscription[] | undefined {
  const query = useQuery({
    queryKey: ['subscriptions'],
    queryFn: () => pageOf(api.GET('/api/v1/subscriptions', { params: { query: { limit: 1000 } } })),
    staleTime: 60_000,
  })
  return query.data?.items
}

/** The one that was chosen, or the default one; undefined for a user without any, and until they are known. */
export function useSubscription(): Subscription | undefined {
  const id = useObserved(chosen)
  const all = useSubscriptions()
  return all?.find((one) => one.id === id) ?? all?.find((one) => one.is_default) ?? all?.[0]
}

/** Native, so that every keyboard, phone and screen reader can use it. */
export function SubscriptionChoice() {
  const all = useSubscriptions() ?? []
  const current = useSubscription()
  const isAdmin = useIsAdmin()
  if (!current || isAdmin) return null
  const nameOf = ({ name, status }: Subscription) => (status === 'active' ? name : `${name} (${words.shell.suspended})`)
  return (
    <label class="switch">
      <span class="small mute">{words.shell.subscription}</span>
      <select
        value={current.id}
        onChange={({ currentTarget }) => {
          sessionStorage.setItem(KEY, currentTarget.value)
          chosen.set(Number(currentTarget.value))
        }}
      >
        {all.map((one) => (
          <option value={one.id} key={one.id}>
            {nameOf(one)}
          </option>
        ))}
      </select>
    </label>
  )
}
