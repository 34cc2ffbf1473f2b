/** What runs a site: nothing for a static one, an installed version of PHP for another. */
import { AppError } from '../../../core/errors.ts'
export type Runtime = { kind: 'static'; phpVersion: null } | { kind: 'php'; phpVersion: string }

/**
 * @param phpVersions those that are installed, the newest first
 * @param kind undefined: `php` if a version is named, else `static`
 * @param phpVersion null: the newest that is installed, for a PHP site
 * @throws AppError `validation_error` for a version that is not installed, and for a static site with one
 */
export function runtimeOf(
  phpVersions: readonly string[],
  kind: Runtime['kind'] | undefined,
  phpVersion: string | null,
): Runtime {
  if (kind === 'static' && phpVersion !== null) {
    throw new AppError('validation_error', 'php_version: only a site of kind php has one')
  }
  if (kind === 'static' || (kind === undefined && phpVersion === null)) return { kind: 'static', phpVersion: null }
  const version = phpVersion ?? phpVersions[0]
  if (version !== undefined && phpVersions.includes(version)) return { kind: 'php', phpVersion: version }
  const installed = phpVersions.length === 0 ? 'none' : phpVersions.join(', ')
  throw new AppError(
    'validation_error',
    `${phpVersion === null ? 'kind' : 'php_version'}: needs PHP as it is installed on the server, which has ${installed}`,
  )
}
