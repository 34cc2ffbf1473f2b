/** Answers a GET or HEAD with the files of a site. */
import { basename } from 'node:path'
import type { Awaitable } from '../core/awaitable.ts'
import { isDirectory, lookUp } from './look-up.ts'
import { badRequest, notFound } from './pages.ts'
import { isWithheld, readPath } from './path.ts'
import type { Reply } from './reply.ts'
import { type SendFile, sendInstead } from './send-file.ts'

const INDEX = 'index.html'
const NOT_FOUND = '404.html'

export type ServedFiles = {
  /** Absolute real path. */
  root: string
  spa: boolean
}

export function serveSite(
  request: Request,
  url: URL,
  { root, spa }: ServedFiles,
  sendFile: SendFile,
): Awaitable<Reply> {
  const path = readPath(url.pathname)
  if (path === undefined) return badRequest
  if (isWithheld(path)) return missing(root)
  const name = path.namesDirectory ? join(path.relative, INDEX) : path.relative
  const found = lookUp(root, name)
  if (found === 'directory') return path.namesDirectory ? missing(root) : redirectInto(url)
  if (found !== undefined) return sendFile(request, name, found)
  // As in nginx, a directory without an index is not found, on a single-page site too.
  if (!spa || (path.namesDirectory && isDirectory(root, path.relative))) return missing(root)
  const fallback = lookUp(root, INDEX)
  return fallback === undefined || fallback === 'directory' ? missing(root) : sendFile(request, INDEX, fallback)
}

/** 404, with the site's own page if it has one. */
function missing(root: string): Reply {
  const own = lookUp(root, NOT_FOUND)
  return own === undefined || own === 'directory' ? notFound : sendInstead(404, NOT_FOUND, own)
}

/**
 * Redirects to the same directory with a slash, which relative links in its index need. The location is relative to the request
 * and begins with a dot, so that the name of a directory cannot be taken for a host or a scheme.
 */
function redirectInto({ pathname, search }: URL): Reply {
  const location = `./${basename(pathname)}/${search}`
  return { status: 301, headers: { location, 'cache-control': 'no-cache' }, body: new Uint8Array() }
}

const join = (directory: string, name: string) => (directory === '' ? name : `${directory}/${name}`)
