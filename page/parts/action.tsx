/** A button that does one thing, and says when that failed. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Trouble } from './trouble.tsx'

type Props = { onAct(): Promise<unknown>; children: ComponentChildren; label?: string }

export function Action({ onAct, children, label }: Props) {
  const [isBusy, setBusy] = useState(false)
  const [thrown, setThrown] = useState<unknown>()
  async function act() {
    setBusy(true)
    try {
      await onAct()
      setThrown(undefined)
    } catch (error) {
      setThrown(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <button
        type="button"
        class="btn"
        disabled={isBusy}
        onClick={act}
        {...(label !== undefined && { 'aria-label': label })}
      >
        {children}
      </button>
      {thrown !== undefined && <Trouble thrown={thrown} />}
    </>
  )
}
