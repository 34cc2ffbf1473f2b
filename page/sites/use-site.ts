/** One site, its deployments and its events, as they are read and kept. */
import { useQuery } from '@tanstack/preact-query'
import { api, pageOf, type Schemas, type Versioned, versionOf } from '../api/client.ts'
import { LATER_MS, queryClient, SOON_MS } from '../api/queries.ts'
import { isInProgress, type Site } from './status.tsx'

export type Deployment = Schemas['Deployment']

const path = (id: number) => ({ params: { path: { id } } })

export const readSite = (id: number): Promise<Versioned<Site>> => versionOf(api.GET('/api/v1/sites/{id}', path(id)))

export const useSite = (id: number) =>
  useQuery({
    queryKey: ['site', id],
    queryFn: () => readSite(id),
    refetchInterval: ({ state }) => (state.data && isInProgress(state.data.value) ? SOON_MS : LATER_MS),
  })

export const isUnderWay = ({ status }: Deployment): boolean => status === 'unpacking'

/** Read again, too, whenever the node has reported on the site. */
export function useDeployments(id: number) {
  const observed = useSite(id).data?.value.observed_generation
  return useQuery({
    queryKey: ['site', id, 'deployments', observed],
    placeholderData: (previous) => previous,
    queryFn: () => pageOf(api.GET('/api/v1/sites/{id}/deployments', path(id))),
    refetchInterval: ({ state }) => (state.data?.items.some(isUnderWay) ? SOON_MS : LATER_MS),
  })
}

/** Reads again what a change may have touched. */
export async function refreshSite(id: number): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ['site', id] })
  void queryClient.invalidateQueries({ queryKey: ['sites'] })
}
