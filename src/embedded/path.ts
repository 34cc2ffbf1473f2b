/** Which file of a site a path names, and which names are never served. */

/** Longer than any path that a deployment can have, in characters as they are sent. */
const MAX_LENGTH = 8192

/** `.git`, `.env` and the like, but not what RFC 8615 puts into `/.well-known/`. */
const HIDDEN = /\/\.(?!well-known(?:\/|$))/
/** PHP sources and the copies that editors leave: nothing here runs them, and a source may contain a password. */
const PHP = /\.(?:php[0-9]*|phtml|pht|phar|phps)(?:[/~]|\.(?:bak|old|orig|save|dist|sw[a-p])|$)/i
/** Characters that no segment may contain, since the file system or a client would read them as something else. */
const FORBIDDEN = /[\0/\\]/

export type SitePath = {
  /** From the root, without a slash at either end; empty for the root itself. */
  relative: string
  /** Whether it ends with a slash. */
  namesDirectory: boolean
}

/**
 * Decodes a path. The URL parser has already resolved `.` and `..` in all their encodings. An encoded slash, backslash or NUL
 * is refused here. Several slashes count as one, as in nginx.
 *
 * @param pathname as `URL` has it
 * @returns undefined for a malformed path
 */
export function readPath(pathname: string): SitePath | undefined {
  if (pathname.length > MAX_LENGTH) return undefined
  const segments: string[] = []
  for (const encoded of pathname.split('/')) {
    if (encoded === '') continue
    const segment = decode(encoded)
    if (segment === undefined || segment === '.' || segment === '..' || FORBIDDEN.test(segment)) return undefined
    segments.push(segment)
  }
  return { relative: segments.join('/'), namesDirectory: pathname.endsWith('/') }
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

/** Whether a path is answered as if there were nothing, whatever there is. */
export function isWithheld({ relative }: SitePath): boolean {
  const path = `/${relative}`
  return HIDDEN.test(path) || PHP.test(path)
}
