/** What is known of a path: the pattern that it follows, and the methods it takes (405 and Allow, RFC 9110 §15.5.6). */

type Route = { method: string; path: string }
type Entry = { route: string; pattern: RegExp; allow: string }

export type RouteTable = {
  /** The pattern of a path, such as `/api/v1/sites/:id`; undefined for one that nothing serves. */
  routeOf(path: string): string | undefined
  /** The methods that a path takes, in the form of an Allow header; undefined for one that nothing serves. */
  allow(path: string): string | undefined
}

export function createRouteTable(routes: readonly Route[]): RouteTable {
  const { fixed, withParameters } = compile(routes)

  function find(path: string): Entry | undefined {
    // A fixed path wins over one with parameters.
    return fixed.get(path) ?? withParameters.find(({ pattern }) => pattern.test(path))
  }

  return {
    routeOf: (path) => find(path)?.route,
    allow: (path) => find(path)?.allow,
  }
}

function compile(routes: readonly Route[]) {
  const methods = new Map<string, Set<string>>()
  for (const { method, path } of routes) {
    const of = methods.get(path) ?? new Set()
    methods.set(path, of.add(method))
    if (method === 'GET') of.add('HEAD')
  }
  const entries = [...methods].map(([route, of]) => ({
    route,
    pattern: new RegExp(`^${route.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`),
    allow: [...of].sort().join(', '),
  }))
  const hasParameters = ({ route }: Entry) => route.includes(':')
  return {
    fixed: new Map(entries.filter((entry) => !hasParameters(entry)).map((entry) => [entry.route, entry])),
    withParameters: entries.filter(hasParameters).sort((a, b) => a.route.split(':').length - b.route.split(':').length),
  }
}
