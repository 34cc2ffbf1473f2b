/** Says that there is nothing, and what to do about it. */
import type { ComponentChildren } from 'preact'

export function Empty({ title, children }: { title: ComponentChildren; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}
