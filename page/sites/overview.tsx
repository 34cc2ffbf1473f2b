/** What a site is, where it is, and what happened to it. */
import { useQuery } from '@tanstack/preact-query'
import { useRef } from 'preact/hooks'
import { api, pageOf } from '../api/client.ts'
import { Moment } from '../parts/time.tsx'
import { formatBytes, formatNumber } from '../words/format.ts'
import { words } from '../words/words.ts'
import { Deploy } from './deploy.tsx'
import { displayDomain } from './domain.ts'
import type { Site } from './status.tsx'
import { useDeployments } from './use-site.ts'

export function Overview({ site }: { site: Site }) {
  const deployments = useDeployments(site.id)
  // Once it is there, it stays: it tells what became of the first upload.
  const offersFirst = useRef(false)
  if (deployments.data?.items.length === 0) offersFirst.current = true
  return (
    <div class="stack">
      {offersFirst.current && site.status !== 'deleting' && <Deploy site={site} title={words.deployments.first} />}
      <Facts site={site} />
      <Events id={site.id} />
    </div>
  )
}

function Facts({ site }: { site: Site }) {
  const { overview, sites } = words
  const deployments = useDeployments(site.id)
  const current = deployments.data?.items.find(({ id }) => id === site.current_deployment_id)
  return (
    <section class="card pad" aria-label={words.site.overview}>
      <dl class="pairs">
        <dt>{overview.addresses}</dt>
        <dd>
          <ul>
            {site.urls.length === 0 && <li>{displayDomain(site.domain)}</li>}
            {site.urls.map((url) => (
              <li key={url}>
                <a href={url} target="_blank" rel="noreferrer" class="domain">
                  {url}
                </a>
              </li>
            ))}
          </ul>
        </dd>
        <dt>{sites.kind}</dt>
        <dd>{site.kind === 'php' ? `${sites.kinds.php} ${site.php_version ?? ''}` : sites.kinds.static}</dd>
        <dt>{overview.served}</dt>
        <dd>
          {current ? (
            <>
              {words.deployments.number(current.number)}, <Moment at={current.activated_at ?? current.created_at} />
            </>
          ) : (
            overview.nothing
          )}
        </dd>
        {site.usage.disk_bytes !== null && (
          <>
            <dt>{overview.disk}</dt>
            <dd>
              {formatBytes(site.usage.disk_bytes)}
              {site.usage.files !== null &&
                `, ${words.deployments.files(site.usage.files, formatNumber(site.usage.files))}`}
            </dd>
          </>
        )}
        <dt>{overview.created}</dt>
        <dd>
          <Moment at={site.created_at} />
        </dd>
      </dl>
    </section>
  )
}

/** The API lists them oldest first: a page of a thousand has all of the last 30 days but for the busiest sites. */
function Events({ id }: { id: number }) {
  const query = useQuery({
    queryKey: ['site', id, 'events'],
    queryFn: () => pageOf(api.GET('/api/v1/sites/{id}/events', { params: { path: { id }, query: { limit: 1000 } } })),
  })
  const newest = query.data?.items.toReversed().slice(0, 10) ?? []
  if (newest.length === 0) return null
  const names: Readonly<Record<string, string>> = words.overview.events
  return (
    <section class="card" aria-labelledby="events">
      <div class="bar">
        <h2 id="events">{words.overview.history}</h2>
      </div>
      <ul class="rows">
        {newest.map((event) => (
          <li key={event.id}>
            <span class="grow">{names[event.kind] ?? event.kind}</span>
            <span class="mute small">
              <Moment at={event.created_at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
