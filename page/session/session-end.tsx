/** Warns before the session ends, and asks for a new login over the page once it has. */
import { useEffect, useState } from 'preact/hooks'
import { LoginForm } from '../login/login-form.tsx'
import { useObserved } from '../observed.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Note } from '../parts/note.tsx'
import { formatClock } from '../words/format.ts'
import { words } from '../words/words.ts'
import { renewal } from './renewal.ts'
import { endSession, session } from './session.ts'

/** Time to finish a thought. */
const WARNING_MS = 5 * 60_000
/** A timer cannot wait longer than 2^31 ms, and a computer may sleep: it looks at the clock now and then. */
const LOOK_MS = 10_000

export function SessionEnd() {
  const current = useObserved(session)
  const wanted = useObserved(renewal)
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), LOOK_MS)
    return () => clearInterval(timer)
  }, [])
  if (!current) return null
  const { login } = words
  const endsSoon = current.expiresAt - now < WARNING_MS && current.expiresAt > now
  return (
    <>
      {endsSoon && (
        <Note tone="warn" title={login.endsSoon(formatClock(current.expiresAt))}>
          <button type="button" class="btn" onClick={() => renewal.set('early')}>
            {login.stay}
          </button>
        </Note>
      )}
      {wanted !== 'none' && (
        <Dialog
          title={wanted === 'ended' ? login.ended : login.early}
          onClose={wanted === 'early' ? () => renewal.set('none') : undefined}
        >
          <div class="stack">
            <p>{wanted === 'ended' ? login.endedHint : login.earlyHint}</p>
            <LoginForm email={current.email} />
            {wanted === 'ended' && (
              <button type="button" class="linklike" onClick={endSession}>
                {login.leave}
              </button>
            )}
          </div>
        </Dialog>
      )}
    </>
  )
}
