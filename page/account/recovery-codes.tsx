/** Recovery codes, shown once: to copy, to keep as a file, and to confirm. */
import { useState } from 'preact/hooks'
import { Note } from '../parts/note.tsx'
import { Check } from '../parts/pick.tsx'
import { words } from '../words/words.ts'

export function RecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone(): void }) {
  const [isSaved, setSaved] = useState(false)
  const { twoFactor } = words

  function keep() {
    const url = URL.createObjectURL(new Blob([`${codes.join('\n')}\n`], { type: 'text/plain' }))
    const link = document.createElement('a')
    link.href = url
    link.download = 'recovery-codes.txt'
    link.click()
    URL.revokeObjectURL(url)
  }

  return (
    <div class="stack">
      <Note tone="ok" title={twoFactor.codes}>
        <p>{twoFactor.codesHint}</p>
      </Note>
      <ol class="codes mono">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ol>
      <div class="actions">
        <button type="button" class="btn" onClick={keep}>
          {twoFactor.download}
        </button>
        <button type="button" class="btn" onClick={() => navigator.clipboard?.writeText(codes.join('\n'))}>
          {words.common.copy}
        </button>
      </div>
      <Check name="saved" label={twoFactor.saved} checked={isSaved} onChange={setSaved} />
      <button type="button" class="btn primary" disabled={!isSaved} onClick={onDone}>
        {words.common.done}
      </button>
    </div>
  )
}
