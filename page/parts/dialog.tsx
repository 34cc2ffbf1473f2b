/** A modal dialog of the browser: it keeps the focus, and gives it back. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Icon } from './icon.tsx'

type Props = {
  title: ComponentChildren
  /** Without it, the dialog cannot be closed. */
  onClose?: (() => void) | undefined
  children: ComponentChildren
}

export function Dialog({ title, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()

  useEffect(() => {
    const opened = dialog.current
    const before = document.activeElement
    opened?.showModal()
    return () => {
      opened?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])

  function cancel(event: Event) {
    event.preventDefault()
    onClose?.()
  }

  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={cancel}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        {onClose && (
          <button type="button" class="btn ghost" aria-label={words.common.close} onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </div>
      {children}
    </dialog>
  )
}
