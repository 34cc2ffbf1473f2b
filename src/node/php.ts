/** What a site may set of PHP, and what its subscription allows: each directive with its grammar and its bounds. */

/** What PHP may take, for each site of a subscription. */
export type PhpLimits = {
  /** Requests of a site that are answered at a time. */
  workers: number
  /** Of a request, in MiB: the most that `memory_limit` can be. */
  memoryMb: number
  /** Of a request; it is ended then. */
  seconds: number
  /** Of an upload, in MiB. */
  uploadMb: number
}

export const PHP_LIMITS = {
  workers: { minimum: 1, maximum: 100, default: 5 },
  memoryMb: { minimum: 32, maximum: 4096, default: 256 },
  seconds: { minimum: 5, maximum: 600, default: 60 },
  uploadMb: { minimum: 1, maximum: 100, default: 64 },
} as const satisfies Record<keyof PhpLimits, { minimum: number; maximum: number; default: number }>

export const DEFAULT_PHP_LIMITS: PhpLimits = {
  workers: PHP_LIMITS.workers.default,
  memoryMb: PHP_LIMITS.memoryMb.default,
  seconds: PHP_LIMITS.seconds.default,
  uploadMb: PHP_LIMITS.uploadMb.default,
}

/** What a directive takes, under the name that php.ini has for it. */
export type PhpDirective =
  | { type: 'flag' }
  | { type: 'integer'; minimum: number; maximum: number; example: number }
  /** A number of MiB as php.ini writes it, such as 128M. */
  | { type: 'size'; minimum: number; maximum: number; example: string }
  | { type: 'choice'; values: readonly string[] }
  | {
      type: 'text'
      pattern: RegExp
      maxLength: number
      rule: string
      example: string
      /** Asked about what the pattern lets through. */
      isKnown?(value: string): boolean
    }

const integer = (minimum: number, maximum: number, example: number) =>
  ({ type: 'integer', minimum, maximum, example }) as const
const size = (minimum: number, maximum: number, example: string) =>
  ({ type: 'size', minimum, maximum, example }) as const
const flag = { type: 'flag' } as const

/** Every other directive is the server's. */
export const PHP_DIRECTIVES = {
  memory_limit: size(16, PHP_LIMITS.memoryMb.maximum, '128M'),
  max_execution_time: integer(1, PHP_LIMITS.seconds.maximum, 30),
  max_input_time: integer(1, PHP_LIMITS.seconds.maximum, 60),
  max_input_vars: integer(100, 100_000, 1000),
  upload_max_filesize: size(1, PHP_LIMITS.uploadMb.maximum, '32M'),
  // An upload, and the form around it.
  post_max_size: size(1, PHP_LIMITS.uploadMb.maximum + 1, '33M'),
  max_file_uploads: integer(1, 100, 20),
  display_errors: flag,
  error_reporting: integer(0, 32_767, 32_767),
  short_open_tag: flag,
  output_buffering: integer(0, 65_536, 4096),
  'zlib.output_compression': flag,
  allow_url_fopen: flag,
  disable_functions: {
    type: 'text',
    pattern: /^[a-z_][a-z0-9_]*(?:,[a-z_][a-z0-9_]*)*$/,
    maxLength: 2000,
    rule: 'must be names of functions, with a comma and no space between them',
    example: 'exec,shell_exec',
  },
  'date.timezone': {
    type: 'text',
    pattern: /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/,
    maxLength: 64,
    rule: 'must be the name of a time zone, such as Europe/Berlin',
    example: 'Europe/Berlin',
    isKnown: isTimeZone,
  },
  'session.gc_maxlifetime': integer(60, 30 * 24 * 60 * 60, 1440),
  'session.cookie_lifetime': integer(0, 365 * 24 * 60 * 60, 0),
  'session.cookie_secure': flag,
  'session.cookie_httponly': flag,
  'session.cookie_samesite': { type: 'choice', values: ['Lax', 'Strict', 'None'] },
  'session.use_strict_mode': flag,
  'opcache.enable': flag,
  'opcache.revalidate_freq': integer(0, 3600, 2),
} as const satisfies Record<string, PhpDirective>

export type PhpDirectiveName = keyof typeof PHP_DIRECTIVES

export type PhpSettings = { [Name in PhpDirectiveName]?: ValueOf<(typeof PHP_DIRECTIVES)[Name]> }
type ValueOf<Directive> = Directive extends { type: 'flag' }
  ? boolean
  : Directive extends { type: 'integer' }
    ? number
    : string

/** A directive by its name in php.ini, with a value that it takes. */
export type PhpSetting = { name: string; value: boolean | number | string }

/** Of a site, as a node is told. */
export type SitePhp = {
  settings: PhpSetting[]
  /** Directories below what is served in which no PHP is executed, such as wp-content/uploads. */
  noPhpIn: string[]
}

export const NO_SITE_PHP: SitePhp = { settings: [], noPhpIn: [] }

export const MAX_NO_PHP_IN = 20
export const MAX_DIRECTORY_LENGTH = 255

/** Plain names with slashes between them: nothing that a path or a configuration could take for more. */
export const isPlainDirectory = (path: string): boolean =>
  path.length <= MAX_DIRECTORY_LENGTH && /^[A-Za-z0-9_][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_][A-Za-z0-9._-]*)*$/.test(path)

/** @returns a number of MiB; undefined for what is not one as php.ini writes it */
export function megabytesOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^[1-9]\d{0,4}M$/.test(value) ? Number(value.slice(0, -1)) : undefined
}

/** Whether a directive takes a value. */
export function takes(directive: PhpDirective, value: unknown): boolean {
  switch (directive.type) {
    case 'flag':
      return typeof value === 'boolean'
    case 'integer':
      return Number.isInteger(value) && isWithin(directive, value as number)
    case 'size': {
      const megabytes = megabytesOf(value)
      return megabytes !== undefined && isWithin(directive, megabytes)
    }
    case 'choice':
      return directive.values.some((known) => known === value)
    case 'text':
      return (
        typeof value === 'string' &&
        value.length <= directive.maxLength &&
        directive.pattern.test(value) &&
        (directive.isKnown?.(value) ?? true)
      )
  }
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

const isWithin = ({ minimum, maximum }: { minimum: number; maximum: number }, value: number) =>
  value >= minimum && value <= maximum

/** The directives that a subscription's limits bound, each with the limit. */
export const LIMITED_DIRECTIVES = {
  memory_limit: 'memoryMb',
  max_execution_time: 'seconds',
  upload_max_filesize: 'uploadMb',
  post_max_size: 'uploadMb',
} as const satisfies Partial<Record<PhpDirectiveName, keyof PhpLimits>>
