/** Lets a client finish sending before it is refused: most write the whole body before they read the response. */
import { inTime } from '../core/in-time.ts'

type Reader = { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> }

/** Beyond this, or after five seconds, the response is sent and the connection closed on a client still writing. */
const MAX_BYTES = 256 * 1024 * 1024
const MAX_MS = 5000
/** A client that is waiting for the response sends nothing. */
const MAX_SILENCE_MS = 500

/**
 * Reads and discards the rest, within bounds. Closing a connection with unread bytes resets it, and a client that is
 * still writing then sees a broken pipe instead of the response (RFC 9112 §9.6).
 */
export async function readAway(reader: Reader): Promise<void> {
  const begunAt = performance.now()
  let bytes = 0
  while (bytes < MAX_BYTES && performance.now() - begunAt < MAX_MS) {
    // Where reading fails, there is nothing to wait for.
    const chunk = await inTime(
      reader.read().catch(() => undefined),
      MAX_SILENCE_MS,
    )
    if (!chunk || chunk.done) return
    bytes += chunk.value?.length ?? 0
  }
}
