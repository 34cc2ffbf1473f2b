/** What went wrong, in words that say what to do; a countdown where it is a matter of time. */
import { useEffect, useState } from 'preact/hooks'
import { isProblem, type Problem } from '../api/problem.ts'
import { language, words } from '../words/words.ts'
import { Note } from './note.tsx'

/** The API speaks English; what it is known to say is said in the reader's language. */
export function inWords(message: string): string {
  for (const [pattern, text] of words.api) {
    if (pattern.test(message)) return message.replace(pattern, text)
  }
  return language === 'en' ? capitalized(message) : message
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** Of codes that say the same wherever they come. */
function ofCode({ code, status, requestId }: Problem): string | undefined {
  const { problems } = words
  switch (code) {
    case 'unreachable':
      return problems.unreachable
    case 'rate limit exceeded':
      return problems.rateLimited
    case 'invalid credentials':
      return problems.invalidCredentials
    case 'invalid_2fa_code':
      return problems.invalidCode
    case '2fa_enrolment_required':
      return problems.enrolment
    case 'not found':
      return problems.notFound
    case 'precondition failed':
      return problems.changed
    case 'service unavailable':
      return problems.unavailable
  }
  return status >= 500 ? problems.internal(requestId ?? '') : undefined
}

export function textOf(thrown: unknown): string {
  if (!isProblem(thrown)) return words.problems.internal('')
  const general = ofCode(thrown)
  if (general !== undefined) return general
  if (thrown.code === 'forbidden' && language !== 'en') return words.problems.forbidden
  const { fields } = thrown
  if (fields.size > 0) return [...fields.values()].map(inWords).join(' ')
  return inWords(thrown.message)
}

/** Seconds until another attempt is allowed, counted down. */
export function useCountdown(thrown: unknown): number {
  const [left, setLeft] = useState(0)
  useEffect(() => {
    const seconds = isProblem(thrown) ? (thrown.retryAfter ?? 0) : 0
    const until = Date.now() + seconds * 1000
    const update = () => setLeft(Math.max(0, Math.ceil((until - Date.now()) / 1000)))
    update()
    if (seconds === 0) return
    const timer = setInterval(update, 250)
    return () => clearInterval(timer)
  }, [thrown])
  return left
}

type Props = {
  thrown: unknown
  /** Seconds left, if the caller counts. */
  waitSeconds?: number
  /** Offers another attempt. */
  onRetry?: () => void
}

export function Trouble({ thrown, waitSeconds = 0, onRetry }: Props) {
  if (isProblem(thrown) && thrown.code === 'logged out') return null
  return (
    <Note tone="bad">
      <p>
        {textOf(thrown)} {waitSeconds > 0 && <span class="num">{words.common.waitSeconds(waitSeconds)}</span>}
      </p>
      {onRetry && (
        <button type="button" class="btn" onClick={onRetry}>
          {words.common.tryAgain}
        </button>
      )}
    </Note>
  )
}
