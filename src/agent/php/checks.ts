/** What the agent believes of PHP in the desired state: the panel is the less trusted side. */
import {
  bytesOf,
  isReserved,
  isVariableName,
  isVariableValue,
  MAX_ENVIRONMENT_BYTES,
  MAX_VARIABLES,
  type Variable,
} from '../../node/environment.ts'
import {
  isPlainDirectory,
  MAX_NO_PHP_IN,
  PHP_DIRECTIVES,
  PHP_LIMITS,
  type PhpDirectiveName,
  type PhpLimits,
  type SitePhp,
  takes,
} from '../../node/php.ts'

/** Whether these are limits, within the bounds of the product; absent means the defaults. */
export function arePhpLimits(value: unknown): value is PhpLimits | undefined {
  if (value === undefined) return true
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(PHP_LIMITS).every(([name, { minimum, maximum }]) => {
    const limit: unknown = (value as Record<string, unknown>)[name]
    return Number.isSafeInteger(limit) && (limit as number) >= minimum && (limit as number) <= maximum
  })
}

/** Whether this is what a site may say of PHP; absent means nothing. */
export function isSitePhp(value: unknown): value is SitePhp | undefined {
  if (value === undefined) return true
  const { settings, noPhpIn } = (value ?? {}) as Partial<SitePhp>
  if (!Array.isArray(settings) || !Array.isArray(noPhpIn) || noPhpIn.length > MAX_NO_PHP_IN) return false
  if (!noPhpIn.every((directory) => typeof directory === 'string' && isPlainDirectory(directory))) return false
  const names = new Set(settings.map((setting) => setting?.name))
  return names.size === settings.length && settings.every(isSetting)
}

function isSetting(setting: unknown): boolean {
  const { name, value } = (setting ?? {}) as { name?: unknown; value?: unknown }
  if (typeof name !== 'string' || !Object.hasOwn(PHP_DIRECTIVES, name)) return false
  return takes(PHP_DIRECTIVES[name as PhpDirectiveName], value)
}

/** Whether these may become variables of a process; absent means none. */
export function isEnvironment(value: unknown): value is Variable[] | undefined {
  if (value === undefined) return true
  if (!Array.isArray(value) || value.length > MAX_VARIABLES || !value.every(isVariable)) return false
  const names = new Set(value.map(({ name }) => name))
  return names.size === value.length && value.reduce((sum, one) => sum + bytesOf(one), 0) <= MAX_ENVIRONMENT_BYTES
}

function isVariable(variable: unknown): variable is Variable {
  const { name, value } = (variable ?? {}) as { name?: unknown; value?: unknown }
  const isName = typeof name === 'string' && isVariableName(name) && !isReserved(name)
  return isName && typeof value === 'string' && isVariableValue(value)
}
