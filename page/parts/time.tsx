/** A moment, told by its distance; the exact time is in its title. */
import { formatDateTime, formatRelative } from '../words/format.ts'

export function Moment({ at }: { at: string }) {
  return (
    <time class="num" dateTime={at} title={formatDateTime(at)}>
      {formatRelative(at)}
    </time>
  )
}
