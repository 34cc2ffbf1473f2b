/** A text to copy, such as a secret that is shown once. */
import { useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Icon } from './icon.tsx'

type Props = { text: string; label: string; isPrimary?: boolean }

export function Copy({ text, label, isPrimary = false }: Props) {
  const [isCopied, setCopied] = useState(false)
  async function copy() {
    // Over plain HTTP there is no clipboard: the text can still be marked.
    await navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => undefined,
    )
  }
  return (
    <div class="secret">
      <code>{text}</code>
      <button
        type="button"
        class={isPrimary ? 'btn primary' : 'btn'}
        aria-label={`${words.common.copy}: ${label}`}
        onClick={copy}
      >
        <Icon name={isCopied ? 'check' : 'copy'} />
        {isCopied ? words.common.copied : words.common.copy}
      </button>
      <span class="hidden" role="status">
        {isCopied && words.common.copied}
      </span>
    </div>
  )
}
