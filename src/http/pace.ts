/** How fast a body has to arrive: one that trickles would hold its place for hours. */
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { inTime } from '../core/in-time.ts'

/** The least: so many bytes in so many seconds. */
export const PACE = { bytes: 64 * 1024, seconds: 30 } as const

/** How often a silent sender is looked at. */
const CHECK_MS = 1000

type Chunk = { done: true; value?: undefined } | { done: false; value: Uint8Array }

export function createPace(clock: Clock) {
  /** Since the last time that enough had arrived; only the waiting counts, not what is done with a chunk. */
  let waitedMs = 0
  let bytes = 0

  return {
    /** @param reading the next chunk. @throws AppError `request_timeout` */
    async wait(reading: Promise<Chunk>): Promise<Chunk> {
      const before = waitedMs
      const begunAt = clock.elapsedMs()
      for (;;) {
        const chunk = await inTime(reading, CHECK_MS)
        waitedMs = before + clock.elapsedMs() - begunAt
        if (waitedMs > PACE.seconds * 1000) {
          const rate = `${PACE.bytes / 1024} KiB in ${PACE.seconds} seconds`
          throw new AppError('request_timeout', `The body came too slowly: it takes at least ${rate}`)
        }
        if (chunk === undefined) continue
        bytes += chunk.value?.length ?? 0
        if (bytes >= PACE.bytes) {
          bytes = 0
          waitedMs = 0
        }
        return chunk
      }
    },
  }
}
