/** The deployments of a site, the newest first, and the place to drop the next one. */
import { api, dataOf } from '../api/client.ts'
import { Action } from '../parts/action.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Moment } from '../parts/time.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { formatBytes, formatNumber } from '../words/format.ts'
import { words } from '../words/words.ts'
import { Deploy } from './deploy.tsx'
import type { Site } from './status.tsx'
import { type Deployment, refreshSite, useDeployments } from './use-site.ts'

const TONES: Readonly<Record<string, string>> = { unpacking: 'busy', active: 'ok', failed: 'bad' }

export function Deployments({ site }: { site: Site }) {
  const query = useDeployments(site.id)
  return (
    <div class="stack">
      {site.status !== 'deleting' && <Deploy site={site} title={words.deployments.next} />}
      <section class="card" aria-label={words.site.deployments}>
        {query.isPending && <Loading />}
        {query.isError && <Trouble thrown={query.error} onRetry={() => query.refetch()} />}
        {query.data?.items.length === 0 && (
          <Empty title={words.deployments.none}>
            <p>{words.deployments.noneHint}</p>
          </Empty>
        )}
        <ul class="rows" aria-live="polite">
          {query.data?.items.map((deployment) => (
            <Row deployment={deployment} key={deployment.id} />
          ))}
        </ul>
      </section>
    </div>
  )
}

function Row({ deployment }: { deployment: Deployment }) {
  const { deployments } = words
  const statuses: Readonly<Record<string, string>> = deployments.statuses
  const { number, status, failure, message, files, bytes, archive_bytes, created_at, commit } = deployment
  const act = status === 'ready' ? deployments.promote : deployments.goBack
  return (
    <li>
      <strong class="num">{deployments.number(number)}</strong>
      <span class={`pill ${TONES[status] ?? ''}`}>{statuses[status] ?? status}</span>
      <div class="grow">
        {failure && <p class="mistake-text">{failure.message}</p>}
        {message && <p class="pre">{message}</p>}
        <p class="mute small num">
          {files === null
            ? formatBytes(archive_bytes)
            : `${deployments.files(files, formatNumber(files))}, ${formatBytes(bytes ?? archive_bytes)}`}
          {commit !== null && <span class="mono"> {commit.slice(0, 12)}</span>}
        </p>
      </div>
      <span class="mute small">
        <Moment at={created_at} />
      </span>
      {(status === 'ready' || status === 'superseded') && (
        <Action
          label={`${act}: ${deployments.serve(number)}`}
          onAct={async () => {
            const params = { path: { id: deployment.site_id, deployment_id: deployment.id } }
            await dataOf(api.POST('/api/v1/sites/{id}/deployments/{deployment_id}/activate', { params }))
            const query = { wait: 'observed' as const }
            await dataOf(api.GET('/api/v1/sites/{id}', { params: { path: { id: deployment.site_id }, query } }))
            await refreshSite(deployment.site_id)
          }}
        >
          {act}
        </Action>
      )}
    </li>
  )
}
