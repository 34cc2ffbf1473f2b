/** Something is on its way. */
import { words } from '../words/words.ts'

export function Loading() {
  return (
    <p class="loading mute" role="status">
      {words.common.loading}
    </p>
  )
}
