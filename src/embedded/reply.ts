/** Turns replies into responses: the headers that all of them have, and no body for HEAD. */
import type { Clock } from '../core/clock.ts'

export type Reply = {
  status: number
  headers: Record<string, string>
  body: Uint8Array | FileBody
}

/** A body that the runtime reads from the disk, as fast as the client takes it. */
export type FileBody = {
  sizeBytes: number
  open(): Bun.BodyInit
}

/** Means the same as no header. Without it, the runtime would add one that names the file after our descriptor. */
const DEFAULT_DISPOSITION = { 'content-disposition': 'inline' }

/** @returns for HEAD, all headers of a GET without the body */
export function toResponse({ method }: Request, { status, headers, body }: Reply, clock: Clock): Response {
  const isFile = 'open' in body
  const init = {
    status,
    headers: { ...headers, 'x-content-type-options': 'nosniff', ...(isFile && DEFAULT_DISPOSITION) },
  }
  if (status === 304) return new Response(null, init)
  if (method !== 'HEAD') return new Response(isFile ? body.open() : (body as Bun.BodyInit), init)
  const length = isFile ? body.sizeBytes : body.length
  return new Response(null, {
    status,
    headers: {
      ...init.headers,
      'content-length': `${length}`,
      // The runtime adds the date to every other response.
      date: new Date(clock.now()).toUTCString(),
    },
  })
}

/** The length of the body that is sent, if the client takes all of it. */
export function bytesOf({ method }: Request, { status, body }: Reply): number {
  if (method === 'HEAD' || status === 304) return 0
  return 'open' in body ? body.sizeBytes : body.length
}
