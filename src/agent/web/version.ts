/** The version of nginx, where the configuration depends on it. */

/** Major, minor, patch. */
export type NginxVersion = readonly [number, number, number]

/** From here on HTTP/2 is switched on by a directive of its own, and `listen … http2` only warns. */
const HTTP2_DIRECTIVE: NginxVersion = [1, 25, 1]

/** @param text what `nginx -v` writes @returns undefined when it names no version */
export function nginxVersion(text: string): NginxVersion | undefined {
  const [, major, minor, patch] = /nginx\/(\d+)\.(\d+)\.(\d+)/.exec(text) ?? []
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)]
}

export const hasHttp2Directive = (version: NginxVersion): boolean => !isBelow(version, HTTP2_DIRECTIVE)

function isBelow(version: NginxVersion, other: NginxVersion): boolean {
  for (const [index, part] of version.entries()) {
    const against = other[index] ?? 0
    if (part !== against) return part < against
  }
  return false
}
