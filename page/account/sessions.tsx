/** Where the user is logged in. */
import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { api, done, pageOf, type Schemas } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { Loading } from '../parts/loading.tsx'
import { Moment } from '../parts/time.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { words } from '../words/words.ts'

type Session = Schemas['Session']

export function Sessions() {
  const { sessions } = words
  const query = useQuery({
    queryKey: ['sessions'],
    queryFn: () => pageOf(api.GET('/api/v1/auth/sessions', { params: { query: { limit: 1000 } } })),
  })
  const [thrown, setThrown] = useState<unknown>()
  async function end({ id }: Session) {
    try {
      await done(api.DELETE('/api/v1/auth/sessions/{id}', { params: { path: { id } } }))
      setThrown(undefined)
    } catch (error) {
      setThrown(error)
    }
    await queryClient.invalidateQueries({ queryKey: ['sessions'] })
  }
  return (
    <section class="card" aria-labelledby="sessions">
      <div class="bar">
        <h2 id="sessions">{sessions.title}</h2>
      </div>
      {thrown !== undefined && <Trouble thrown={thrown} />}
      {query.isPending && <Loading />}
      {query.isError && <Trouble thrown={query.error} onRetry={() => query.refetch()} />}
      <ul class="rows">
        {query.data?.items.map((session) => (
          <SessionRow session={session} key={session.id} onEnd={() => end(session)} />
        ))}
      </ul>
    </section>
  )
}

export function SessionRow({ session, onEnd }: { session: Session; onEnd(): void }) {
  const { sessions } = words
  const device = deviceOf(session.user_agent)
  return (
    <li>
      <div class="grow">
        <strong>{device}</strong> {session.current && <span class="pill ok">{sessions.current}</span>}
        <p class="mute small">
          {session.address} · {sessions.seen} <Moment at={session.last_seen_at} />
        </p>
      </div>
      {!session.current && (
        <button type="button" class="btn" aria-label={sessions.endOf(device, session.address)} onClick={onEnd}>
          {sessions.end}
        </button>
      )}
    </li>
  )
}

/** Such as "Firefox, Linux"; what a program calls itself, if it is no browser. */
function deviceOf(userAgent: string): string {
  const [browser] = /Firefox|Edg|OPR|Chrome|Safari/.exec(userAgent) ?? []
  const [system] = /Android|iPhone|iPad|Windows|Mac OS|Linux/.exec(userAgent) ?? []
  if (browser === undefined) return userAgent.split(/[ /]/)[0] || words.sessions.unknown
  const name = { Edg: 'Edge', OPR: 'Opera' }[browser] ?? browser
  return system === undefined ? name : `${name}, ${system}`
}
