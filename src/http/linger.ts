/** Lets a client finish sending before it is refused: most write the whole body before they read the response. */

type Reader = { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> }

/** Beyond this, and beyond five seconds, the answer is sent and the connection closed under a client that still writes. */
const MAX_BYTES = 256 * 1024 * 1024
const MAX_MS = 5000
/** A client that waits for the answer sends nothing. */
const MAX_SILENCE_MS = 500

/**
 * Reads on and throws away, within bounds. A connection that is closed with bytes unread is reset, and a client that is
 * writing then sees a broken pipe in place of the answer (RFC 9112 §9.6).
 */
export async function readAway(reader: Reader): Promise<void> {
  const begunAt = performance.now()
  let bytes = 0
  while (bytes < MAX_BYTES && performance.now() - begunAt < MAX_MS) {
    const chunk = await orSilence(reader.read())
    if (!chunk || chunk.done) return
    bytes += chunk.value?.length ?? 0
  }
}

/** @returns undefined where nothing comes, be it an error */
function orSilence<Chunk>(reading: Promise<Chunk>): Promise<Chunk | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, MAX_SILENCE_MS, undefined)
    const settle = (chunk?: Chunk) => {
      clearTimeout(timer)
      resolve(chunk)
    }
    reading.then(settle, () => settle())
  })
}
