/** Server-sent events (WHATWG HTML §9.2): text that stays open, so many at a time, and dropped when its reader is slow. */
import { AppError } from '../core/errors.ts'
import type { RequestContext } from './request-context.ts'

/**
 * One message; `data` is written as JSON. Without data it only tells its reader the id to resume after, and without
 * anything it is a comment, which keeps the connection open.
 */
export type Message = { id?: number; event?: string; data?: unknown }

export type EventStreams = ReturnType<typeof createEventStreams>

/** Open at a time: of one user, and of all. */
export const MOST_STREAMS = { ofUser: 5, inAll: 1000 }
/** What may wait for a slow reader, in bytes. One that falls further behind is cut off, and resumes. */
const MOST_WAITING_BYTES = 256 * 1024
const RETRY_SECONDS = '10'

export function createEventStreams() {
  const open = new Map<number, number>()
  let inAll = 0

  /** @throws AppError `rate_limited`, `unavailable` */
  function enter(userId: number): () => void {
    const ofUser = open.get(userId) ?? 0
    const headers = { 'retry-after': RETRY_SECONDS }
    if (ofUser >= MOST_STREAMS.ofUser) {
      throw new AppError('rate_limited', `You have ${ofUser} event streams open; close one first`, headers)
    }
    if (inAll >= MOST_STREAMS.inAll) {
      throw new AppError('unavailable', 'Too many event streams are open; try again later', headers)
    }
    open.set(userId, ofUser + 1)
    inAll++
    return () => {
      const left = (open.get(userId) ?? 1) - 1
      if (left === 0) open.delete(userId)
      else open.set(userId, left)
      inAll--
    }
  }

  return {
    /** How many are open. */
    count: () => inAll,

    /**
     * Answers with a stream.
     *
     * @param messages told when the stream ends, whichever side ends it
     * @throws AppError `rate_limited` beyond five of a user, `unavailable` beyond a thousand in all
     */
    send(context: RequestContext, userId: number, messages: (ended: AbortSignal) => AsyncIterable<Message>): Response {
      const { responseHeaders, request } = context
      responseHeaders.set('content-type', 'text/event-stream; charset=utf-8')
      // nginx would hold back what it thinks is a page.
      responseHeaders.set('x-accel-buffering', 'no')
      if (request.method === 'HEAD') return new Response(null)
      const leave = enter(userId)
      const ended = new AbortController()
      const body = new ReadableStream<Uint8Array>(
        {
          start(controller) {
            void pump(controller, messages(ended.signal), ended).finally(leave)
          },
          cancel: () => ended.abort(),
        },
        new ByteLengthQueuingStrategy({ highWaterMark: MOST_WAITING_BYTES }),
      )
      return new Response(body)
    },
  }
}

/** Never fails: whoever reads learns of an error by the end of the stream, and asks again. */
async function pump(
  controller: ReadableStreamDefaultController<Uint8Array>,
  messages: AsyncIterable<Message>,
  ended: AbortController,
): Promise<void> {
  try {
    for await (const message of messages) {
      if (ended.signal.aborted) return
      controller.enqueue(encoder.encode(textOf(message)))
      if ((controller.desiredSize ?? 0) <= 0) break
    }
    if (!ended.signal.aborted) controller.close()
  } catch (error) {
    if (!ended.signal.aborted) controller.error(error)
  } finally {
    ended.abort()
  }
}

const encoder = new TextEncoder()

function textOf({ id, event, data }: Message): string {
  const lines = [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    // One line: JSON has no bare line breaks.
    ...(data === undefined ? [] : [`data: ${JSON.stringify(data)}`]),
  ]
  return `${lines.length === 0 ? ':' : lines.join('\n')}\n\n`
}
