/** The media type of a file by its extension, and whether compressing it pays off. */

/** Where the runtime's table means TypeScript instead of a video, or has no entry. */
const OTHER_TYPES: Readonly<Record<string, string>> = { ts: 'video/mp2t', jxl: 'image/jxl' }
const EXTENSION = /\.([^./]+)$/

const COMPRESSIBLE =
  /^text\/|^application\/(?:json|javascript|wasm|manifest\+json|vnd\.ms-fontobject)|\+(?:json|xml)|\/xml|^font\/(?:ttf|otf)|^image\/(?:x-icon|bmp)/

/** @returns `application/octet-stream` for an unknown extension */
export function contentTypeOf(name: string): string {
  const extension = EXTENSION.exec(name)?.[1]?.toLowerCase()
  if (extension === undefined) return 'application/octet-stream'
  const type = OTHER_TYPES[extension] ?? Bun.file(`file.${extension}`).type
  // XML declares its own encoding.
  return type.startsWith('text/') && !type.includes('charset') ? `${type};charset=utf-8` : type
}

export const isCompressible = (contentType: string) => COMPRESSIBLE.test(contentType)
