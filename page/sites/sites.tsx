/** The list of sites: what needs attention first, a filter, their states. */
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { useIsAdmin } from '../api/me.ts'
import { Empty } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { Loading } from '../parts/loading.tsx'
import { Note } from '../parts/note.tsx'
import { useTitle } from '../parts/title.ts'
import { Trouble } from '../parts/trouble.tsx'
import { useSettled } from '../parts/use-settled.ts'
import { useSubscription, useSubscriptions } from '../shell/subscription.tsx'
import { formatDateTime, formatRelative } from '../words/format.ts'
import { words } from '../words/words.ts'
import { displayDomain } from './domain.ts'
import { needsAttention, type Site, SiteStatus } from './status.tsx'
import { useSites } from './use-sites.ts'

type Shown = 'all' | 'active' | 'attention'

const shows: Record<Shown, (site: Site) => boolean> = {
  all: () => true,
  active: ({ status }) => status === 'active',
  attention: needsAttention,
}

export function Sites() {
  const { sites } = words
  useTitle(sites.title)
  const [filter, setFilter] = useState('')
  const [shown, setShown] = useState<Shown>('all')
  const domain = useSettled(filter.trim().toLowerCase())
  const query = useSites(domain)
  const loaded = query.data?.pages.flatMap(({ items }) => items) ?? []
  const isAdmin = useIsAdmin()
  const hasNoSubscription = useSubscriptions()?.length === 0 && !isAdmin

  const clear = () => {
    setFilter('')
    setShown('all')
  }

  if (hasNoSubscription) {
    return (
      <>
        <Head count={undefined} />
        <Empty title={sites.noSubscription}>
          <p>{sites.noSubscriptionHint}</p>
        </Empty>
      </>
    )
  }
  const isWhole = domain === '' && query.hasNextPage === false
  const failing = loaded.filter(({ status }) => status === 'failed')
  return (
    <>
      <Head count={isWhole ? loaded.length : undefined} />
      {failing.length > 0 && (
        <Note tone="warn" title={sites.failing(failing.length)}>
          <ul>
            {failing.slice(0, 3).map((site) => (
              <li key={site.id}>
                <Link href={`/sites/${site.id}`}>{displayDomain(site.domain)}</Link>: {site.failure?.message}
              </li>
            ))}
          </ul>
        </Note>
      )}
      <section class="card" aria-label={sites.title}>
        <div class="bar">
          <input
            class="input"
            type="search"
            aria-label={sites.filter}
            placeholder={sites.filter}
            value={filter}
            maxLength={253}
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
          />
          <fieldset class="seg">
            <legend class="hidden">{sites.statusFilter}</legend>
            {(Object.keys(shows) as Shown[]).map((which) => (
              <button type="button" key={which} aria-pressed={shown === which} onClick={() => setShown(which)}>
                {sites[which]}
              </button>
            ))}
          </fieldset>
        </div>
        {query.isPending && !query.isError && <Loading />}
        {query.isError && <Trouble thrown={query.error} onRetry={() => query.refetch()} />}
        {query.isSuccess && (
          <List list={loaded.filter(shows[shown])} isFiltered={domain !== '' || shown !== 'all'} onClear={clear} />
        )}
        {query.hasNextPage && (
          <div class="more">
            <button type="button" class="btn" disabled={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
              {words.common.loadMore}
            </button>
          </div>
        )}
      </section>
    </>
  )
}

function Head({ count }: { count: number | undefined }) {
  const { sites } = words
  const isAdmin = useIsAdmin()
  const subscription = useSubscription()
  return (
    <div class="head">
      <div>
        <h1>{sites.title}</h1>
        <p>{isAdmin ? sites.ofAll : subscription && ofSubscription(subscription, count)}</p>
      </div>
      {(isAdmin || subscription) && (
        <Link class="btn primary" href="/sites/new">
          <Icon name="add" />
          {sites.create}
        </Link>
      )}
    </div>
  )
}

function ofSubscription({ name, max_sites }: { name: string; max_sites: number }, count: number | undefined): string {
  if (count === undefined || max_sites === 0) return words.sites.ofSubscription(name)
  return words.sites.ofLimit(count, max_sites, name)
}

type ListProps = { list: readonly Site[]; isFiltered: boolean; onClear(): void }

function List({ list, isFiltered, onClear }: ListProps) {
  const { sites } = words
  if (list.length === 0) {
    return (
      <Empty title={isFiltered ? sites.noMatch : sites.none}>
        <p>{isFiltered ? sites.noMatchHint : sites.noneHint}</p>
        {isFiltered && (
          <button type="button" class="btn" onClick={onClear}>
            {sites.clear}
          </button>
        )}
      </Empty>
    )
  }
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{sites.domain}</th>
          <th scope="col">{sites.status}</th>
          <th scope="col">{sites.kind}</th>
          <th scope="col">{sites.changed}</th>
          <th scope="col">
            <span class="hidden">{words.common.more}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {list.map((site) => (
          <Row site={site} key={site.id} />
        ))}
      </tbody>
    </table>
  )
}

function Row({ site }: { site: Site }) {
  const { sites } = words
  const name = displayDomain(site.domain)
  const [url] = site.urls
  return (
    <tr>
      <td>
        <Link class="domain" href={`/sites/${site.id}`}>
          {name}
        </Link>
        {site.aliases.length > 0 && <span class="mute small domain">{site.aliases.map(displayDomain).join(', ')}</span>}
      </td>
      <td>
        <SiteStatus site={site} />
      </td>
      <td>{site.kind === 'php' ? `${sites.kinds.php} ${site.php_version ?? ''}` : sites.kinds.static}</td>
      <td class="num mute">
        <time dateTime={site.updated_at} title={formatDateTime(site.updated_at)}>
          {formatRelative(site.updated_at)}
        </time>
      </td>
      <td class="act">
        {url !== undefined && site.status === 'active' && (
          <a class="btn ghost" href={url} target="_blank" rel="noreferrer" aria-label={sites.open(name)}>
            <Icon name="external" />
          </a>
        )}
      </td>
    </tr>
  )
}
