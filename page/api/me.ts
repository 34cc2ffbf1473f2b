/** Who is logged in. */
import { useQuery } from '@tanstack/preact-query'
import { api, dataOf } from './client.ts'

export const useMe = (enabled = true) =>
  useQuery({ queryKey: ['me'], queryFn: () => dataOf(api.GET('/api/v1/auth/me')), staleTime: 60_000, enabled })

/** Whether the user is an administrator; false until that is known. */
export const useIsAdmin = (): boolean => useMe().data?.user.role === 'admin'
