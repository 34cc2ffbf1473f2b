/** The path under which the panel is served, without a slash at its end: empty unless a proxy adds a prefix. */
export const base = new URL('..', import.meta.url).pathname.slice(0, -1)
