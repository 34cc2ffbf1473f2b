/** API keys: what each may do, when it expires, when it was last used; made, rotated, renamed and deleted. */
import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { api, pageOf, type Schemas } from '../api/client.ts'
import { Empty } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { Loading } from '../parts/loading.tsx'
import { useTitle } from '../parts/title.ts'
import { Trouble } from '../parts/trouble.tsx'
import { words } from '../words/words.ts'
import { KeyRow } from './key-row.tsx'
import { NewKey } from './new-key.tsx'
import { NewSecret } from './new-secret.tsx'

export type CreatedKey = Schemas['CreatedApiKey']

export function Keys() {
  const { keys } = words
  useTitle(keys.title)
  const [isOpen, setOpen] = useState(false)
  const [created, setCreated] = useState<CreatedKey>()
  const query = useQuery({
    queryKey: ['keys'],
    queryFn: () => pageOf(api.GET('/api/v1/auth/api-keys', { params: { query: { limit: 1000 } } })),
  })

  async function show(key: CreatedKey) {
    setOpen(false)
    setCreated(key)
    await query.refetch()
  }

  return (
    <>
      <div class="head">
        <div>
          <h1>{keys.title}</h1>
          <p>{keys.hint}</p>
        </div>
        {!isOpen && (
          <button type="button" class="btn primary" onClick={() => setOpen(true)}>
            <Icon name="add" />
            {keys.create}
          </button>
        )}
      </div>
      <div class="stack">
        {created && <NewSecret created={created} key={created.key} onDone={() => setCreated(undefined)} />}
        {isOpen && <NewKey onCreated={show} onCancel={() => setOpen(false)} />}
        <section class="card" aria-label={keys.title}>
          {query.isPending && <Loading />}
          {query.isError && <Trouble thrown={query.error} onRetry={() => query.refetch()} />}
          {query.data?.items.length === 0 && (
            <Empty title={keys.none}>
              <p>{keys.noneHint}</p>
            </Empty>
          )}
          <ul class="rows">
            {query.data?.items.map((key) => (
              <KeyRow apiKey={key} key={key.id} onRotated={show} />
            ))}
          </ul>
        </section>
      </div>
    </>
  )
}
