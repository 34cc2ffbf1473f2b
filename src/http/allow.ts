/** Which methods a path takes, for 405 and its Allow header (RFC 9110 §15.5.6). */

type Route = { method: string; path: string }

/** @param routes called once, at the first question, when every route is known */
export function createAllow(routes: () => readonly Route[]): (path: string) => string | undefined {
  let known: { pattern: RegExp; allow: string }[] | undefined

  return (path) => {
    known ??= compile(routes())
    return known.find(({ pattern }) => pattern.test(path))?.allow
  }
}

function compile(routes: readonly Route[]) {
  const methods = new Map<string, Set<string>>()
  for (const { method, path } of routes) {
    const of = methods.get(path) ?? new Set()
    methods.set(path, of.add(method))
    if (method === 'GET') of.add('HEAD')
  }
  return [...methods]
    .sort(([a], [b]) => parameters(a) - parameters(b))
    .map(([path, of]) => ({
      pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`),
      allow: [...of].sort().join(', '),
    }))
}

/** A fixed path wins over one with parameters. */
function parameters(path: string): number {
  return path.split(':').length
}
