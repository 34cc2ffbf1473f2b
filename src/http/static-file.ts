/** Files that are served as they are: compressed once, tagged by their content, kept by clients for as long as they are the same. */
import { matchesTag } from './conditional.ts'
import { type Coding, codedTag, compress, preferredCoding } from './content-coding.ts'
import type { Visit } from './visit.ts'

export type StaticFile = {
  /** Names the content, for a URL that may be kept for ever: see `send`. */
  version(): Promise<string>
  /**
   * Answers with the file, or with 304.
   *
   * @param asked the version in the request's URL, if it has one
   */
  send(visit: Visit, asked?: string): Promise<Response>
}

export type StaticFileOptions = {
  contentType: string
  contentSecurityPolicy: string
  /** Called once, when somebody asks: the start need not wait for it. */
  load(): Promise<Uint8Array | string>
  /** Whether it is compressed already, as images are. */
  isCompressed?: boolean
}

type Loaded = { content: Uint8Array | string; hash: string }

const IMMUTABLE = 'max-age=31536000, immutable'
/** Kept, but asked for each time: a new version must show at once. */
const REVALIDATED = 'no-cache'
/** Of the SHA-256 in hex. */
const VERSION_LENGTH = 16

export function staticFile({ contentType, contentSecurityPolicy, load, isCompressed }: StaticFileOptions): StaticFile {
  let loading: Promise<Loaded> | undefined
  const coded = new Map<Coding, Promise<Uint8Array>>()

  function loaded(): Promise<Loaded> {
    loading ??= load().then((content) => ({ content, hash: Bun.SHA256.hash(content, 'hex') }))
    return loading
  }

  async function bodyIn(coding: Coding | undefined, { content }: Loaded): Promise<Uint8Array | string> {
    if (coding === undefined) return content
    let body = coded.get(coding)
    if (!body) {
      body = compress(content, coding)
      coded.set(coding, body)
    }
    return body
  }

  const version = async () => (await loaded()).hash.slice(0, VERSION_LENGTH)

  return {
    version,

    async send({ request, responseHeaders }, asked) {
      const file = await loaded()
      const coding = isCompressed ? undefined : preferredCoding(request.headers.get('accept-encoding'))
      const etag = `"${file.hash}"`
      responseHeaders.set('etag', coding === undefined ? etag : codedTag(etag, coding))
      responseHeaders.set('cache-control', asked === (await version()) ? IMMUTABLE : REVALIDATED)
      if (!isCompressed) responseHeaders.append('vary', 'Accept-Encoding')
      if (matchesTag(request.headers.get('if-none-match'), etag)) {
        responseHeaders.delete('content-type')
        return new Response(null, { status: 304 })
      }
      responseHeaders.set('content-type', contentType)
      responseHeaders.set('content-security-policy', contentSecurityPolicy)
      if (coding !== undefined) responseHeaders.set('content-encoding', coding)
      return new Response((await bodyIn(coding, file)) as Bun.BodyInit)
    },
  }
}
