/** The nodes that serve sites. */
import { api, pageOf } from '../api/client.ts'
import { useList } from '../api/use-list.ts'
import { Head } from '../parts/head.tsx'
import { List } from '../parts/list.tsx'
import { Moment } from '../parts/time.tsx'
import { words } from '../words/words.ts'

/** A node reports every few seconds. */
const SILENT_MS = 120_000

export function Nodes() {
  const { nodes } = words
  const list = useList(['admin', 'nodes'], (query) => pageOf(api.GET('/api/v1/admin/nodes', { params: { query } })))
  return (
    <>
      <Head title={nodes.title} hint={nodes.hint} />
      <section class="card" aria-label={nodes.title}>
        <List list={list} none={nodes.none}>
          {list.items.map(({ id, name, subscriptions, last_seen_at }) => (
            <li key={id}>
              <div class="grow">
                <strong>{name}</strong>
                <p class="mute small">{nodes.subscriptions(subscriptions)}</p>
              </div>
              {last_seen_at === null ? (
                <span class="pill">{nodes.never}</span>
              ) : (
                <span class={`pill ${Date.now() - Date.parse(last_seen_at) > SILENT_MS ? 'bad' : 'ok'}`}>
                  {nodes.seen} <Moment at={last_seen_at} />
                </span>
              )}
            </li>
          ))}
        </List>
      </section>
    </>
  )
}
