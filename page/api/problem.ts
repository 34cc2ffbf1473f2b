/** What the API answers when it does not do what it was asked to. */

/** An error of the API, or that it could not be reached. */
export class Problem extends Error {
  /** Seconds after which to try again. */
  readonly retryAfter: number | undefined

  /**
   * @param code the envelope's `error`, or `unreachable`
   * @param status of the response, 0 without one
   */
  constructor(
    readonly code: string,
    message: string,
    readonly status = 0,
    readonly requestId: string | null = null,
    retryAfter: string | null = null,
  ) {
    super(message)
    this.name = 'Problem'
    this.retryAfter = retryAfter === null ? undefined : Number(retryAfter)
  }

  /** The mistakes by field: the API writes `name: must be …; domain: …`. */
  get fields(): ReadonlyMap<string, string> {
    if (this.status !== 422 && this.status !== 400 && this.status !== 409) return new Map()
    const parts = this.message.split('; ').map((part) => /^([a-z_]+)(?:\.\d+)?: (.+)$/s.exec(part))
    return new Map(parts.flatMap((part) => (part ? [[part[1] ?? '', part[2] ?? '']] : [])))
  }
}

type Envelope = { error: string; message: string }

/** @returns the problem that a response tells of */
export function problemOf(response: Response, body: Partial<Envelope> | undefined): Problem {
  const { error = `${response.status}`, message = '' } = body ?? {}
  const { headers, status } = response
  return new Problem(error, message, status, headers.get('x-request-id'), headers.get('retry-after'))
}

export function isProblem(thrown: unknown): thrown is Problem {
  return thrown instanceof Problem
}
