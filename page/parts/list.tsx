/** What every list shows around its rows: that it is on its way, empty or unreadable, and that there is more. */
import type { ComponentChildren } from 'preact'
import type { useList } from '../api/use-list.ts'
import { words } from '../words/words.ts'
import { Empty } from './empty.tsx'
import { Loading } from './loading.tsx'
import { Trouble } from './trouble.tsx'

type Props = { list: Pick<ReturnType<typeof useList>, 'query' | 'items'>; none: string; children: ComponentChildren }

export function List({ list: { query, items }, none, children }: Props) {
  return (
    <>
      {query.isPending && <Loading />}
      {query.isError && <Trouble thrown={query.error} onRetry={() => query.refetch()} />}
      {query.isSuccess && items.length === 0 && <Empty title={none} />}
      {items.length > 0 && <ul class="rows">{children}</ul>}
      {query.hasNextPage && (
        <div class="more">
          <button type="button" class="btn" disabled={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
            {words.common.loadMore}
          </button>
        </div>
      )}
    </>
  )
}
