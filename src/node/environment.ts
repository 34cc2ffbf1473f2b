/** Environment variables that a site's PHP sees: which names and values there may be. */

export type Variable = { name: string; value: string }

/** Of a site. */
export const MAX_VARIABLES = 200
/** Of a value, in UTF-8. */
export const MAX_VALUE_BYTES = 4096
/** Of all names and values of a site. */
export const MAX_ENVIRONMENT_BYTES = 64 * 1024

const NAME = /^[A-Z_][A-Z0-9_]{0,63}$/
/** What decides how the processes themselves run. */
const RESERVED = /^(?:LD_.*|PHP_.*|PATH|HOME|USER|FPM_SOCKETS)$/

export const isVariableName = (name: string): boolean => NAME.test(name)

/** Whether a name is the server's own. */
export const isReserved = (name: string): boolean => RESERVED.test(name)

/** Without NUL, which would end it, and without halves of surrogate pairs, which are no text. */
export const isVariableValue = (value: string): boolean =>
  value.length <= MAX_VALUE_BYTES &&
  Buffer.byteLength(value) <= MAX_VALUE_BYTES &&
  !value.includes('\0') &&
  value.isWellFormed()

export const bytesOf = ({ name, value }: Variable): number => name.length + Buffer.byteLength(value)
