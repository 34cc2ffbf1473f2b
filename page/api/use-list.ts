/** A list that is read page by page. */
import { useInfiniteQuery } from '@tanstack/preact-query'
import type { ListPage } from './client.ts'
import { LATER_MS } from './queries.ts'

/** @param read reads the page that begins at a cursor */
export function useList<Item>(
  queryKey: readonly unknown[],
  read: (cursor: { cursor?: string }) => Promise<ListPage<Item>>,
) {
  const query = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) => read(cursor === undefined ? {} : { cursor }),
    getNextPageParam: ({ next }) => next,
    refetchInterval: LATER_MS,
    placeholderData: (previous) => previous,
  })
  return { query, items: query.data?.pages.flatMap(({ items }) => items) ?? [] }
}
