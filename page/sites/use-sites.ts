/** Sites as they are read and kept. */
import { useInfiniteQuery } from '@tanstack/preact-query'
import { api, pageOf } from '../api/client.ts'
import { useIsAdmin, useMe } from '../api/me.ts'
import { LATER_MS, SOON_MS } from '../api/queries.ts'
import { useSubscription } from '../shell/subscription.tsx'
import { isInProgress } from './status.tsx'

/** The sites of the chosen subscription, or of all of them for an administrator, page by page. */
export function useSites(domain: string) {
  const me = useMe()
  const isAdmin = useIsAdmin()
  const subscription = useSubscription()
  const subscriptionId = isAdmin ? undefined : subscription?.id
  return useInfiniteQuery({
    queryKey: ['sites', subscriptionId, domain],
    enabled: me.isSuccess && (isAdmin || subscriptionId !== undefined),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) => {
      const query = {
        ...(subscriptionId !== undefined && { subscription_id: subscriptionId }),
        ...(domain !== '' && { domain }),
        ...(cursor !== undefined && { cursor }),
      }
      return pageOf(api.GET('/api/v1/sites', { params: { query } }))
    },
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some(isInProgress)) ? SOON_MS : LATER_MS,
    placeholderData: (previous) => previous,
  })
}
