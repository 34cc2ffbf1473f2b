/** A part of the account: what it is, and a button that opens its form. */
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Note } from '../parts/note.tsx'

type Props = {
  title: string
  hint: ComponentChildren
  /** Of the button. */
  action: string
  /** @param close closes the form, with what to say about it */
  children(close: (said?: string) => void): ComponentChildren
}

export function Section({ title, hint, action, children }: Props) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const [said, setSaid] = useState<string>()
  const close = (text?: string) => {
    setOpen(false)
    setSaid(text)
  }
  return (
    <section class="card pad" aria-labelledby={id}>
      <div class="row">
        <div class="grow">
          <h2 id={id}>{title}</h2>
          <p class="mute">{hint}</p>
        </div>
        {!isOpen && (
          <button type="button" class="btn" onClick={() => setOpen(true)}>
            {action}
          </button>
        )}
      </div>
      {said !== undefined && !isOpen && (
        <div class="below">
          <Note tone="ok" title={said} />
        </div>
      )}
      {isOpen && <div class="below narrow">{children(close)}</div>}
    </section>
  )
}
