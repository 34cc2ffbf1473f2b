/** Ends a download that stands still, or that goes on for too long. */

/** Without a byte. */
const SILENCE_MS = 30_000
/** In all. */
const LONGEST_MS = 60 * 60 * 1000

/**
 * @param begin starts it, and ends it with the signal that it is given
 * @returns what it gives; undefined where there is nothing
 */
export async function inPace(
  signal: AbortSignal,
  begin: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array> | undefined>,
  silenceMs = SILENCE_MS,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const silent = new AbortController()
  const fall = () => silent.abort(new Error('the panel has stopped sending'))
  let timer = setTimeout(fall, silenceMs)
  const either = AbortSignal.any([signal, silent.signal, AbortSignal.timeout(LONGEST_MS)])
  try {
    const stream = await begin(either)
    const reader = stream?.getReader()
    if (!reader) {
      clearTimeout(timer)
      return undefined
    }
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          clearTimeout(timer)
          timer = setTimeout(fall, silenceMs)
          try {
            const { done, value } = await reader.read()
            if (value) controller.enqueue(value)
            if (done) controller.close()
          } finally {
            clearTimeout(timer)
          }
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    )
  } catch (error) {
    clearTimeout(timer)
    throw error
  }
}
