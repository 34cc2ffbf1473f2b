/** A message that stands out: of what needs attention, what went wrong, what is done. */
import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

type Props = {
  tone: 'ok' | 'warn' | 'bad'
  title?: ComponentChildren
  children?: ComponentChildren
}

/** Errors interrupt a screen reader, all else waits for its turn. */
export function Note({ tone, title, children }: Props) {
  return (
    <div class={`note ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <Icon name={tone === 'ok' ? 'check' : 'warning'} />
      <div class="grow">
        {title && <strong>{title}</strong>}
        {children}
      </div>
    </div>
  )
}
