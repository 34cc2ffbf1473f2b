/** Receives a body as it is, chunk by chunk: its length is announced, its pace watched, and it is never held in memory. */
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { readAway } from './linger.ts'
import { IDLE_TIMEOUT_SECONDS } from './listen.ts'
import { createPace, PACE } from './pace.ts'
import type { RequestContext } from './request-context.ts'

export type Upload = {
  /** As announced, in bytes. */
  length: number
  /** Exactly `length` bytes. @throws AppError `request_timeout`, `bad_request` if fewer arrive */
  chunks: AsyncIterable<Uint8Array>
}

/**
 * Receives the body of a request.
 *
 * @param work what it throws before the body has arrived is answered at once, and closes the connection
 * @throws AppError `length_required`, `payload_too_large`, and whatever `work` throws
 */
export type ReceiveUpload = <Result>(
  context: RequestContext,
  limits: { maxBytes: number },
  work: (upload: Upload) => Promise<Result>,
) => Promise<Result>

export type ReceiveUploadOptions = {
  clock: Clock
  /** Changes after how many silent seconds the listener closes the connection of a request. */
  setIdleTimeout(request: Request, seconds: number): void
}

export function createReceiveUpload({ clock, setIdleTimeout }: ReceiveUploadOptions): ReceiveUpload {
  return async ({ request, received, responseHeaders }, { maxBytes }, work) => {
    const reader = request.body?.getReader()
    let isWhole = request.body === null

    async function* chunksOf(length: number): AsyncGenerator<Uint8Array> {
      const pace = createPace(clock)
      for (let missing = length; missing > 0 && reader; ) {
        const { done, value } = await pace.wait(reader.read().catch(() => cutShort))
        if (done) throw new AppError('bad_request', 'The body ended before its Content-Length')
        missing -= value.length
        isWhole = missing <= 0
        yield value
      }
    }

    try {
      const length = requireLength(request.headers, maxBytes)
      // Too slow is what this file decides, so that its sender is told.
      setIdleTimeout(received, 2 * PACE.seconds)
      return await work({ length, chunks: chunksOf(length) })
    } catch (error) {
      if (!isWhole) {
        const isSlow = error instanceof AppError && error.code === 'request_timeout'
        if (reader && !isSlow) await readAway(reader)
        responseHeaders.set('connection', 'close')
      }
      throw error
    } finally {
      setIdleTimeout(received, IDLE_TIMEOUT_SECONDS)
    }
  }
}

/** A connection that is lost fails the reading; there is nobody to tell. */
const cutShort = { done: true, value: undefined } as const

/** @throws AppError `length_required`, `payload_too_large` */
function requireLength(headers: Headers, maxBytes: number): number {
  const announced = headers.get('content-length')
  if (announced === null || headers.has('transfer-encoding')) throw new AppError('length_required')
  const length = Number(announced)
  if (length <= maxBytes) return length
  throw new AppError('payload_too_large', `The request body must be at most ${maxBytes} bytes`)
}
