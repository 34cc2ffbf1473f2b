/** Says that there is nothing, and what to do about it. */
import type { ComponentChildren } from 'preact'

type Props = { title: ComponentChildren; level?: 'h1' | 'h2'; children?: ComponentChildren }

export function Empty({ title, level: Heading = 'h2', children }: Props) {
  return (
    <div class="empty">
      <Heading>{title}</Heading>
      {children}
    </div>
  )
}
