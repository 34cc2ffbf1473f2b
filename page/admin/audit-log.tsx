/** What happened: all of it for administrators. */
import { useRef, useState } from 'preact/hooks'
import { api, pageOf, type Schemas } from '../api/client.ts'
import { useList } from '../api/use-list.ts'
import type { operations } from '../dist/api.ts'
import { Head } from '../parts/head.tsx'
import { List } from '../parts/list.tsx'
import { Moment } from '../parts/time.tsx'
import { useSettled } from '../parts/use-settled.ts'
import { words } from '../words/words.ts'

type Entry = Schemas['AuditEntry']
type Action = NonNullable<NonNullable<operations['listAuditLog']['parameters']['query']>['action']>
type Filter = { user_id?: number; action?: Action }

const read = (query: Filter & { cursor?: string }) => pageOf(api.GET('/api/v1/admin/audit-log', { params: { query } }))

export function AuditLog() {
  const { auditLog } = words
  const [action, setAction] = useState('')
  const [userId, setUserId] = useState('')
  const user = useSettled(userId.trim())
  const filter: Filter = {
    ...(action !== '' && { action: action as Action }),
    ...(/^\d+$/.test(user) && { user_id: Number(user) }),
  }
  const list = useList(['admin', 'audit-log', filter], (cursor) => read({ ...filter, ...cursor }))
  // Offered are the actions that were seen, also once the list is filtered by one of them.
  const seen = useRef(new Set<string>())
  for (const entry of list.items) seen.current.add(entry.action)
  return (
    <>
      <Head title={auditLog.title} hint={auditLog.hint} />
      <section class="card" aria-label={auditLog.title}>
        <div class="bar">
          <select
            class="input"
            aria-label={auditLog.action}
            value={action}
            onChange={({ currentTarget }) => setAction(currentTarget.value)}
          >
            <option value="">{auditLog.allActions}</option>
            {[...seen.current].sort().map((one) => (
              <option value={one} key={one}>
                {one}
              </option>
            ))}
          </select>
          <input
            class="input"
            type="search"
            inputMode="numeric"
            aria-label={auditLog.user}
            placeholder={auditLog.user}
            value={userId}
            onInput={({ currentTarget }) => setUserId(currentTarget.value)}
          />
        </div>
        <List list={list} none={auditLog.none}>
          {list.items.map((entry) => (
            <EntryRow entry={entry} key={entry.id} />
          ))}
        </List>
      </section>
    </>
  )
}

function EntryRow({ entry }: { entry: Entry }) {
  const { auditLog } = words
  const { action, result, reason, actor_id, address, target_type, target_id, times, created_at } = entry
  const facts = [
    actor_id === null ? entry.credential_kind : auditLog.by(actor_id),
    ...(address === null ? [] : [address]),
    ...(target_type === null ? [] : [`${target_type} ${target_id ?? ''}`.trim()]),
    ...(reason === null ? [] : [reason]),
    ...(times > 1 ? [`× ${times}`] : []),
  ]
  return (
    <li>
      <div class="grow">
        <code>{action}</code> {result !== 'success' && <span class="pill bad">{result}</span>}
        <p class="mute small">{facts.join(' · ')}</p>
      </div>
      <span class="mute small">
        <Moment at={created_at} />
      </span>
    </li>
  )
}
