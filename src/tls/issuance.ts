/** Has the certificate of an authority issued and renewed while the panel serves. */
import type { Config } from '../config/schema.ts'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../log/log.ts'
import { isRenewalDue, issueAndKeep, issuedCertificate } from '../tls/issued.ts'

export type IssuanceOptions = {
  config: Config
  clock: Clock
  log: Log
  /** Serves what was issued. */
  onIssued(): Promise<void>
}

const CHECK_MS = 60_000
/** Authorities count failures: five an hour and name at Let's Encrypt. */
const FIRST_RETRY_MS = 15 * 60_000
const LONGEST_RETRY_MS = 12 * 60 * 60_000

export function startIssuance({ config, clock, log, onIssued }: IssuanceOptions) {
  let retryMs = FIRST_RETRY_MS
  let notBefore = Number.NEGATIVE_INFINITY
  let isOrdering = false

  async function check(): Promise<void> {
    if (isOrdering || clock.now() < notBefore || !isRenewalDue(issuedCertificate(config, clock), clock)) return
    isOrdering = true
    try {
      await issueAndKeep(config)
      retryMs = FIRST_RETRY_MS
      notBefore = Number.NEGATIVE_INFINITY
    } catch (error) {
      notBefore = clock.now() + retryMs
      const fields = { names: config.acmeDomains, reason: (error as Error).message, retryInSeconds: retryMs / 1000 }
      log.error(fields, 'certificate not issued')
      retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS)
      return
    } finally {
      isOrdering = false
    }
    await onIssued()
  }

  const checking = setInterval(check, CHECK_MS)
  checking.unref()

  return {
    check,

    /** Tries at once, whatever failed before: the operator may have mended it. */
    retry(): Promise<void> {
      notBefore = Number.NEGATIVE_INFINITY
      return check()
    },

    stop: () => clearInterval(checking),
  }
}
