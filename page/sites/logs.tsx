/** The newest lines of the logs of a site. */
import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { api, dataOf } from '../api/client.ts'
import { LATER_MS, SOON_MS } from '../api/queries.ts'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { useSettled } from '../parts/use-settled.ts'
import { formatDateTime } from '../words/format.ts'
import { words } from '../words/words.ts'
import type { Site } from './status.tsx'

type Kind = 'access' | 'error' | 'php'

export function Logs({ site }: { site: Site }) {
  const { logs } = words
  const [kind, setKind] = useState<Kind>('access')
  const [text, setText] = useState('')
  const [follows, setFollows] = useState(false)
  const search = useSettled(text.trim())
  const kinds: Kind[] = site.kind === 'php' ? ['access', 'error', 'php'] : ['access', 'error']
  const query = useQuery({
    queryKey: ['site', site.id, 'logs', kind, search],
    queryFn: () => {
      const params = { path: { id: site.id }, query: { kind, lines: 500, ...(search !== '' && { search }) } }
      return dataOf(api.GET('/api/v1/sites/{id}/logs', { params }))
    },
    refetchInterval: follows ? SOON_MS : LATER_MS,
    placeholderData: (previous) => previous,
  })
  return (
    <section class="card" aria-label={words.site.logs}>
      <div class="bar">
        <input
          class="input"
          type="search"
          aria-label={logs.search}
          placeholder={logs.search}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <fieldset class="seg">
          <legend class="hidden">{logs.kind}</legend>
          {kinds.map((one) => (
            <button type="button" key={one} aria-pressed={kind === one} onClick={() => setKind(one)}>
              {logs.kinds[one]}
            </button>
          ))}
        </fieldset>
        <button type="button" class="btn" aria-pressed={follows} onClick={() => setFollows(!follows)}>
          {follows ? logs.stop : logs.follow}
        </button>
      </div>
      {query.isPending && <Loading />}
      {query.isError && <Trouble thrown={query.error} onRetry={() => query.refetch()} />}
      {query.data?.length === 0 && (
        <Empty title={logs.none}>
          <p>{logs.noneHint}</p>
        </Empty>
      )}
      {query.data && query.data.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
        <section class="log" tabIndex={0} aria-label={logs.kinds[kind]}>
          <ol>
            {query.data.map(({ time, text: line }, i) => (
              // Lines have nothing else, and the same one may come twice.
              <li key={i}>
                {time !== null && <span class="log-time">{formatDateTime(time)} </span>}
                {line}
              </li>
            ))}
          </ol>
        </section>
      )}
    </section>
  )
}
