/** A status line on the terminal for long work; nothing where no person reads it. */
import type { TellProgress } from '../backup/progress.ts'
import { hasScreen, showStatus } from './output.ts'
import { humanBytes } from './units.ts'

/** Often enough to be seen moving. */
const REDRAW_MS = 100

/**
 * Runs `work`, and shows its progress on standard error. The line is gone at the end.
 *
 * @param isQuiet for what a program reads
 */
export async function withProgress<T>(isQuiet: boolean, work: (tell: TellProgress) => Promise<T>): Promise<T> {
  if (isQuiet || !hasScreen()) return work(() => undefined)
  let shownStep: string | undefined
  let shownAt = 0
  try {
    return await work((step, doneBytes, totalBytes) => {
      const now = performance.now()
      if (step === shownStep && now - shownAt < REDRAW_MS) return
      shownStep = step
      shownAt = now
      const share =
        doneBytes === undefined || totalBytes === undefined
          ? ''
          : `: ${humanBytes(doneBytes)} of ${humanBytes(totalBytes)}`
      showStatus(`${step}${share}`)
    })
  } finally {
    if (shownStep !== undefined) showStatus('')
  }
}
