/** One site: its head, and the tab that is open. */
import { Link } from 'wouter-preact'
import { isProblem } from '../api/problem.ts'
import { Empty } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { Loading } from '../parts/loading.tsx'
import { Note } from '../parts/note.tsx'
import { useTitle } from '../parts/title.ts'
import { Trouble } from '../parts/trouble.tsx'
import { words } from '../words/words.ts'
import { Deployments } from './deployments.tsx'
import { displayDomain } from './domain.ts'
import { Logs } from './logs.tsx'
import { Overview } from './overview.tsx'
import { SiteSettings } from './site-settings.tsx'
import { type Site as SiteData, SiteStatus } from './status.tsx'
import { useSite } from './use-site.ts'

const tabs = { '': Overview, deployments: Deployments, logs: Logs, settings: SiteSettings }
type Tab = keyof typeof tabs

export function Site({ id, tab = '' }: { id: number; tab?: string }) {
  const query = useSite(id)
  const site = query.data?.value
  useTitle(site && displayDomain(site.domain))
  if (query.isError && isProblem(query.error) && query.error.status === 404) {
    return (
      <Empty title={words.site.gone} level="h1">
        <p>{words.site.goneHint}</p>
        <Link class="btn" href="/sites">
          {words.sites.title}
        </Link>
      </Empty>
    )
  }
  if (!site) return query.isError ? <Trouble thrown={query.error} onRetry={() => query.refetch()} /> : <Loading />
  const View = tabs[(Object.hasOwn(tabs, tab) ? tab : '') as Tab]
  return (
    <>
      <Head site={site} />
      {site.failure && (
        <Note tone="warn" title={words.site.failed}>
          <p>{site.failure.message}</p>
          {site.failure.retryable && <p class="mute small">{words.site.retried}</p>}
        </Note>
      )}
      {site.status === 'suspended' && <Note tone="warn" title={words.site.suspended} />}
      {site.serving.driver === null && <Note tone="warn" title={words.site.noDriver} />}
      <Tabs id={id} open={tab as Tab} />
      <View site={site} />
    </>
  )
}

function Head({ site }: { site: SiteData }) {
  const name = displayDomain(site.domain)
  const [url] = site.urls
  return (
    <>
      <nav aria-label={words.site.breadcrumb} class="breadcrumb small">
        <Link href="/sites">{words.sites.title}</Link>
      </nav>
      <div class="head">
        <div>
          <h1>{name}</h1>
          <p class="facts">
            <SiteStatus site={site} />
            {name !== site.domain && <span class="mono">{site.domain}</span>}
          </p>
        </div>
        {url !== undefined && site.status === 'active' && (
          <a class="btn" href={url} target="_blank" rel="noreferrer">
            <Icon name="external" />
            {words.site.open}
          </a>
        )}
      </div>
    </>
  )
}

function Tabs({ id, open }: { id: number; open: Tab }) {
  return (
    <nav class="tabs" aria-label={words.site.tabs}>
      {(Object.keys(tabs) as Tab[]).map((tab) => (
        <Link
          key={tab}
          href={tab === '' ? `/sites/${id}` : `/sites/${id}/${tab}`}
          {...(tab === open && { 'aria-current': 'page' as const })}
        >
          {tab === '' ? words.site.overview : words.site[tab]}
        </Link>
      ))}
    </nav>
  )
}
