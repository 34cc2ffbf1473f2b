/** A value once it has stopped changing. */
import { useEffect, useState } from 'preact/hooks'

/** A request for each pause in typing, not for each letter. */
const TYPING_MS = 300

export function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
