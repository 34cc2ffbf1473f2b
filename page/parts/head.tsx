/** The head of a view: its name, what it is, what can be done. */
import type { ComponentChildren } from 'preact'
import { useTitle } from './title.ts'

export function Head({
  title,
  hint,
  children,
}: {
  title: string
  hint?: ComponentChildren
  children?: ComponentChildren
}) {
  useTitle(title)
  return (
    <div class="head">
      <div>
        <h1>{title}</h1>
        {hint && <p>{hint}</p>}
      </div>
      {children}
    </div>
  )
}
