/** What a site sets of PHP: within the limits of its subscription, and kept as JSON in its row. */
import { AppError } from '../../../../core/errors.ts'
import {
  LIMITED_DIRECTIVES,
  megabytesOf,
  type PhpLimits,
  type PhpSettings,
  type SitePhp,
} from '../../../../node/php.ts'
import type { Subscription } from '../../subscriptions/scope.ts'

type PhpWishes = { phpSettings?: PhpSettings | undefined; noPhpIn?: string[] | undefined }

/** Each null where it sets nothing. */
export type PhpColumns = { phpSettings: string | null; noPhpIn: string | null }

/** What PHP may take for each site of a subscription. */
export const phpLimitsOf = (
  row: Pick<Subscription, 'phpWorkers' | 'phpMemoryMb' | 'phpSeconds' | 'phpUploadMb'>,
): PhpLimits => ({
  workers: row.phpWorkers,
  memoryMb: row.phpMemoryMb,
  seconds: row.phpSeconds,
  uploadMb: row.phpUploadMb,
})

/**
 * What is to be written of what a request says; a static site loses what it had.
 *
 * @throws AppError `validation_error` for a static site that sets something, and for a value above a limit
 */
export function phpColumns(
  kind: 'static' | 'php',
  subscription: Subscription,
  { phpSettings, noPhpIn }: PhpWishes,
): Partial<PhpColumns> {
  if (kind === 'static') {
    for (const [field, wish] of Object.entries({ php_settings: Object.keys(phpSettings ?? {}), no_php_in: noPhpIn })) {
      if (wish?.length) throw new AppError('validation_error', `${field}: only a site of kind php has them`)
    }
    return { phpSettings: null, noPhpIn: null }
  }
  if (phpSettings) requireWithin(phpLimitsOf(subscription), phpSettings)
  return {
    ...(phpSettings && { phpSettings: writeSettings(phpSettings) }),
    ...(noPhpIn && { noPhpIn: noPhpIn.length === 0 ? null : JSON.stringify(noPhpIn) }),
  }
}

function requireWithin(limits: PhpLimits, settings: PhpSettings): void {
  for (const [name, limitName] of Object.entries(LIMITED_DIRECTIVES)) {
    const wanted = settings[name as keyof typeof LIMITED_DIRECTIVES]
    const limit = limits[limitName]
    const amount = typeof wanted === 'string' ? megabytesOf(wanted) : wanted
    if (amount === undefined || amount <= limit) continue
    const shown = typeof wanted === 'string' ? `${limit}M` : `${limit}`
    throw new AppError(
      'validation_error',
      `php_settings.${name}: must be at most ${shown}, the limit of the subscription`,
    )
  }
}

/** Always in the same order, so that the same settings are the same text. */
function writeSettings(settings: PhpSettings): string | null {
  const entries = Object.entries(settings).sort(([one], [other]) => (one < other ? -1 : 1))
  return entries.length === 0 ? null : JSON.stringify(Object.fromEntries(entries))
}

export function readPhp({ phpSettings, noPhpIn }: PhpColumns): { settings: PhpSettings; noPhpIn: string[] } {
  return {
    settings: phpSettings === null ? {} : JSON.parse(phpSettings),
    noPhpIn: noPhpIn === null ? [] : JSON.parse(noPhpIn),
  }
}

/** For its node. */
export function sitePhpOf(columns: PhpColumns): SitePhp {
  const { settings, noPhpIn } = readPhp(columns)
  return { settings: Object.entries(settings).map(([name, value]) => ({ name, value })), noPhpIn }
}
