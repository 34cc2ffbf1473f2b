/** The errors of the API: one catalogue maps each code to a status and a public text. */

type CatalogueEntry = {
  /** HTTP status. */
  status: number
  /** The envelope's `error`: stable, for programs. */
  error: string
  /** The envelope's `message` when the thrower has nothing more precise to say. */
  message: string
}

/** Names in backquotes of the contract's section 7 keep their exact texts. */
export const catalogue = {
  bad_request: { status: 400, error: 'bad request', message: 'The request is malformed' },
  not_authenticated: { status: 401, error: 'not authenticated', message: 'Authentication required' },
  invalid_credentials: { status: 401, error: 'invalid credentials', message: 'Unknown email or wrong password' },
  two_factor_required: { status: 401, error: '2fa_required', message: 'Two-factor authentication code required' },
  two_factor_invalid: {
    status: 401,
    error: 'invalid_2fa_code',
    message: 'The two-factor code is wrong or was already used; wait for the next one',
  },
  forbidden: { status: 403, error: 'forbidden', message: 'This credential may not do that' },
  scope_missing: { status: 403, error: 'scope_missing', message: 'This API key lacks a scope that this needs' },
  ip_not_allowed: { status: 403, error: 'ip_not_allowed', message: 'This API key may not be used from this address' },
  two_factor_enrolment_required: {
    status: 403,
    error: '2fa_enrolment_required',
    message: 'Two-factor authentication is required here: log in and enrol at /auth/2fa/setup and /auth/2fa/enable',
  },
  not_found: { status: 404, error: 'not found', message: 'No such resource' },
  method_not_allowed: {
    status: 405,
    error: 'method not allowed',
    message: 'This path does not take that method; see the Allow header',
  },
  request_timeout: { status: 408, error: 'request timeout', message: 'The request body took too long; send it again' },
  conflict: { status: 409, error: 'conflict', message: 'The request conflicts with the current state' },
  length_required: {
    status: 411,
    error: 'length required',
    message: 'Send the body with a Content-Length, not in chunks',
  },
  precondition_failed: {
    status: 412,
    error: 'precondition failed',
    message: 'If-Match: the resource has changed since it was read; read it again',
  },
  payload_too_large: { status: 413, error: 'payload too large', message: 'The request body is too large' },
  unsupported_media_type: {
    status: 415,
    error: 'unsupported media type',
    message: 'Send the body as Content-Type: application/json, in UTF-8 and uncompressed',
  },
  validation_error: { status: 422, error: 'validation error', message: 'A value breaks a rule' },
  rate_limited: {
    status: 429,
    error: 'rate limit exceeded',
    message: 'Too many requests. Please try again later.',
  },
  internal: {
    status: 500,
    error: 'internal server error',
    message: 'Something went wrong on our side; give the operator the X-Request-Id of this response',
  },
  unavailable: {
    status: 503,
    error: 'service unavailable',
    message: 'The service is busy; try again after the time in Retry-After',
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof catalogue

/** An error that is meant for the caller. Its message is public: it names a field and a rule, never a value. */
export class AppError extends Error {
  readonly code: ErrorCode
  /** Extra response headers, such as `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, message: string = catalogue[code].message, headers: Record<string, string> = {}) {
    super(message)
    this.name = 'AppError'
    this.code = code
    this.headers = headers
  }
}
