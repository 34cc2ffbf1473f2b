/** Serves files as they are: compressed once, tagged by their content, cached by clients until they change. */
import { matchesTag } from './conditional.ts'
import { type Coding, codedTag, compress, preferredCoding } from './content-coding.ts'
import type { RequestContext } from './request-context.ts'

export type StaticFile = {
  /** Names the content, for a URL that may be kept for ever: see `send`. */
  version(): Promise<string>
  /**
   * Answers with the file, or with 304.
   *
   * @param asked the version in the request's URL, if it has one
   */
  send(context: RequestContext, asked?: string): Promise<Response>
}

export type StaticFileOptions = {
  contentType: string
  contentSecurityPolicy: string
  /** Called when somebody asks: the start need not wait for it, and what is sent compressed need not stay in memory. */
  load(): Promise<Uint8Array | string>
  /** Whether it is compressed already, as images are. */
  isCompressed?: boolean
}

const IMMUTABLE = 'max-age=31536000, immutable'
/** Kept, but asked for each time: a new version must show at once. */
const REVALIDATED = 'no-cache'
/** Of the SHA-256 in hex. */
const VERSION_LENGTH = 16

export function staticFile({ contentType, contentSecurityPolicy, load, isCompressed }: StaticFileOptions): StaticFile {
  let hash: string | undefined
  const coded = new Map<Coding, Promise<Uint8Array>>()

  async function hashOf(): Promise<string> {
    hash ??= Bun.SHA256.hash(await load(), 'hex')
    return hash
  }

  /** Once for all clients that ask at the same time. */
  function compressed(coding: Coding): Promise<Uint8Array> {
    let body = coded.get(coding)
    if (!body) {
      body = load().then((content) => compress(content, coding))
      coded.set(coding, body)
      body.catch(() => coded.delete(coding))
    }
    return body
  }

  const version = async () => (await hashOf()).slice(0, VERSION_LENGTH)

  return {
    version,

    async send({ request, responseHeaders }, asked) {
      const coding = isCompressed ? undefined : preferredCoding(request.headers.get('accept-encoding'))
      const etag = `"${await hashOf()}"`
      const isKnown = matchesTag(request.headers.get('if-none-match'), etag)
      const body = isKnown ? null : await (coding === undefined ? load() : compressed(coding))
      // Only now: an error of what is above has headers of its own.
      responseHeaders.set('etag', coding === undefined ? etag : codedTag(etag, coding))
      responseHeaders.set('cache-control', asked === (await version()) ? IMMUTABLE : REVALIDATED)
      responseHeaders.set('content-security-policy', contentSecurityPolicy)
      if (!isCompressed) responseHeaders.append('vary', 'Accept-Encoding')
      if (isKnown) responseHeaders.delete('content-type')
      else responseHeaders.set('content-type', contentType)
      if (!isKnown && coding !== undefined) responseHeaders.set('content-encoding', coding)
      return new Response(body as Bun.BodyInit | null, { status: isKnown ? 304 : 200 })
    },
  }
}
