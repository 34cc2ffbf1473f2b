/** The secret of a key, which is shown this once, and a line that works with it. */
import { useEffect, useRef } from 'preact/hooks'
import { base } from '../base.ts'
import { Copy } from '../parts/copy.tsx'
import { Note } from '../parts/note.tsx'
import { words } from '../words/words.ts'
import type { CreatedKey } from './keys.tsx'

export function NewSecret({ created, onDone }: { created: CreatedKey; onDone(): void }) {
  const { keys } = words
  const section = useRef<HTMLElement>(null)
  useEffect(() => section.current?.focus(), [])
  const mayList = created.scopes?.includes('sites:read') ?? true
  const url = `${location.origin}${base}/api/v1/${mayList ? 'sites' : 'auth/me'}`
  return (
    <section class="card pad stack" ref={section} tabIndex={-1} aria-label={keys.ready(created.name)}>
      <Note tone="ok" title={keys.ready(created.name)}>
        <p>{keys.once}</p>
      </Note>
      <Copy text={created.key} label={created.name} isPrimary />
      <div>
        <p class="label">{keys.tryIt}</p>
        <Copy text={`curl -H "Authorization: Bearer ${created.key}" ${url}`} label={keys.tryIt} />
        <p class="hint">{keys.certificateHint}</p>
      </div>
      <button type="button" class="btn" onClick={onDone}>
        {keys.stored}
      </button>
    </section>
  )
}
