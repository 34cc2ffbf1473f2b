/** The files of the page for people, as they were built into `page/dist`. */
import { files, html, paths } from '../../page/dist/files.js'
import { type StaticFile, staticFile } from '../http/static-file.ts'

/**
 * Nothing is loaded from or sent to another origin, and nothing that a script makes from text becomes markup. The QR code of
 * two-factor authentication is shown as an image of a blob.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const contentSecurityPolicy = CONTENT_SECURITY_POLICY
const embedded = (path: string) => () => Bun.file(path).bytes()

/** By name. Their names have their hashes. */
export const assets: ReadonlyMap<string, StaticFile> = new Map(
  Object.entries(files).map(([name, { contentType, plain, br, gzip }]) => [
    name,
    staticFile({
      contentType,
      contentSecurityPolicy,
      load: embedded(plain),
      compressed: { br: embedded(br), gzip: embedded(gzip) },
      isImmutable: true,
    }),
  ]),
)

/** The page at each of its paths. Links are relative, so that they work under any prefix of a proxy. */
export const pages: ReadonlyMap<string, StaticFile> = new Map(
  paths.map((path) => {
    const root = '../'.repeat(path.split('/').length - 2)
    const load = async () => html.replaceAll('{root}', root)
    return [path, staticFile({ contentType: 'text/html; charset=utf-8', contentSecurityPolicy, load })]
  }),
)
