/** Serves fixed files: compressed once, tagged by content, cached by clients until they change. */
import { matchesTag } from './conditional.ts'
import { type Coding, codedTag, compress, preferredCoding } from './content-coding.ts'
import type { RequestContext } from './request-context.ts'

export type StaticFile = {
  /** Identifies the content, for a URL that can be cached forever: see `send`. */
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
  /** Called on demand: startup need not wait for it, and what is sent compressed need not stay in memory. */
  load(): Promise<Uint8Array | string>
  /** Whether the content is already compressed, as images are. */
  isCompressed?: boolean
  /** What it is in each coding, if it was compressed before; otherwise it is compressed on the first request for it. */
  compressed?: Record<Coding, () => Promise<Uint8Array>>
  /** Whether its URL names its content, and can be cached forever. */
  isImmutable?: boolean
}

const IMMUTABLE = 'max-age=31536000, immutable'
/** Cached but revalidated each time: a new version must show at once. */
const REVALIDATED = 'no-cache'
/** Characters of the SHA-256 in hex. */
const VERSION_LENGTH = 16

export function staticFile(options: StaticFileOptions): StaticFile {
  const { contentType, contentSecurityPolicy, load, isCompressed, isImmutable } = options
  let hash: string | undefined
  const coded = new Map<Coding, Promise<Uint8Array>>()

  async function hashOf(): Promise<string> {
    hash ??= Bun.SHA256.hash(await load(), 'hex')
    return hash
  }

  /** Once for all concurrent clients. */
  function compressed(coding: Coding): Promise<Uint8Array> {
    if (options.compressed) return options.compressed[coding]()
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
      // Not earlier: an error above has its own headers.
      responseHeaders.set('etag', coding === undefined ? etag : codedTag(etag, coding))
      responseHeaders.set('cache-control', isImmutable || asked === (await version()) ? IMMUTABLE : REVALIDATED)
      responseHeaders.set('content-security-policy', contentSecurityPolicy)
      if (!isCompressed) responseHeaders.append('vary', 'Accept-Encoding')
      if (isKnown) responseHeaders.delete('content-type')
      else responseHeaders.set('content-type', contentType)
      if (!isKnown && coding !== undefined) responseHeaders.set('content-encoding', coding)
      return new Response(body as Bun.BodyInit | null, { status: isKnown ? 304 : 200 })
    },
  }
}
