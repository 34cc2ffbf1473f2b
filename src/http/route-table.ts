/** What is known about a path before routing: its methods, and which of them need a credential. */

export type Route = {
  /** For example `/api/v1/sites/:id`. */
  pattern: string
  /** The path's methods, in the form of an Allow header (405, RFC 9110 §15.5.6). */
  allow: string
  /** Request headers that pages of other origins may send, in the form of Access-Control-Allow-Headers. */
  takes: string
  /** The methods that need a credential. */
  needsCredential: ReadonlySet<string>
}

/** A route as Elysia lists its own. */
type RegisteredRoute = { method: string; path: string; hooks: { detail?: Detail } }
type Detail = { security?: object[]; 'x-request-headers'?: readonly string[] }

type Draft = { pattern: string; methods: Set<string>; headers: Set<string>; needsCredential: Set<string> }

/** Clients send them out of habit, even to routes that need neither. */
const ALWAYS_TAKEN = ['Authorization', 'Content-Type']

/** @returns a function that finds the route of a path; undefined for an unknown one */
export function createRouteTable(registered: readonly RegisteredRoute[]): (path: string) => Route | undefined {
  const routes = compile(registered)
  const hasParameters = ({ pattern }: Route) => pattern.includes(':')
  const fixed = new Map(routes.filter((route) => !hasParameters(route)).map((route) => [route.pattern, route]))
  const withParameters = routes
    .filter(hasParameters)
    .sort((a, b) => a.pattern.split(':').length - b.pattern.split(':').length)
    .map((route) => ({ route, matcher: matcherOf(route) }))

  // A fixed path wins over one with parameters.
  return (path) => fixed.get(path) ?? withParameters.find(({ matcher }) => matcher.test(path))?.route
}

function compile(registered: readonly RegisteredRoute[]): Route[] {
  const drafts = new Map<string, Draft>()
  for (const { method, path, hooks } of registered) {
    const draft = drafts.get(path) ?? {
      pattern: path,
      methods: new Set(),
      headers: new Set(ALWAYS_TAKEN),
      needsCredential: new Set(),
    }
    drafts.set(path, draft)
    for (const header of hooks.detail?.['x-request-headers'] ?? []) draft.headers.add(header)
    // HEAD is admitted and refused like GET.
    for (const taken of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
      draft.methods.add(taken)
      if (hooks.detail?.security?.length) draft.needsCredential.add(taken)
    }
  }
  return [...drafts.values()].map(({ pattern, methods, headers, needsCredential }) => ({
    pattern,
    allow: [...methods].sort().join(', '),
    takes: [...headers].sort().join(', '),
    needsCredential,
  }))
}

function matcherOf({ pattern }: Route): RegExp {
  return new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`)
}
