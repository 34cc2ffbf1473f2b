/** What an authority says when it refuses (RFC 7807, as RFC 8555 §6.7 uses it). */

export type Problem = {
  type?: string
  detail?: string
  subproblems?: (Problem & { identifier?: { value?: string } })[]
}

const PREFIX = 'urn:ietf:params:acme:error:'
/** However long an authority asks for. */
const LONGEST_WAIT_MS = 7 * 24 * 60 * 60 * 1000

/** An order that was refused, in the authority's words. */
export class AcmeError extends Error {
  /** Such as `rateLimited`; empty if it gave none. */
  readonly kind: string
  /** The names that are to blame, with the reason for each; empty if it is the order itself. */
  readonly refused: ReadonlyMap<string, string>
  /** How long the authority wants to be left alone. */
  readonly retryAfterMs: number | undefined

  constructor(problem: Problem, refused: ReadonlyMap<string, string> = refusedBy(problem), retryAfterMs?: number) {
    super(wordsOf(problem))
    this.kind = kindOf(problem)
    this.refused = refused
    this.retryAfterMs = retryAfterMs
  }
}

/** Several names of an order could not be proved. */
export function notProved(refused: ReadonlyMap<string, string>): AcmeError {
  return new AcmeError({ detail: [...refused].map(([name, reason]) => `${name}: ${reason}`).join('; ') }, refused)
}

export function kindOf({ type = '' }: Problem): string {
  return type.replace(PREFIX, '')
}

export function wordsOf(problem: Problem | undefined): string {
  const { detail = 'it gave no reason' } = problem ?? {}
  const kind = kindOf(problem ?? {})
  return kind === '' ? detail : `${detail} (${kind})`
}

function refusedBy({ subproblems = [] }: Problem): Map<string, string> {
  return new Map(
    subproblems.flatMap((problem) => {
      const name = problem.identifier?.value
      return name === undefined ? [] : [[name, wordsOf(problem)] as const]
    }),
  )
}

/** Seconds, or a date (RFC 9110 §10.2.3). @returns milliseconds; undefined without the header */
export function retryAfterOf(response: Response, now: number): number | undefined {
  const text = response.headers.get('retry-after')
  if (text === null) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return ms > 0 ? Math.min(ms, LONGEST_WAIT_MS) : undefined
}
