/** Orders and renews the certificate of an authority while the panel serves. */
import type { Config } from '../config/schema.ts'
import type { Clock } from '../core/clock.ts'
import { type Backoff, delayAfter } from '../jobs/backoff.ts'
import { createSingleFlight } from '../jobs/single-flight.ts'
import { startTasks } from '../jobs/task.ts'
import type { Log } from '../log/log.ts'
import type { PublishChallenge } from '../tls/acme/client.ts'
import { isRenewalDue, issueAndKeep, issuedCertificate } from '../tls/issued.ts'

export type IssuanceOptions = {
  config: Config
  clock: Clock
  log: Log
  /** Where the port for the proof is open already; undefined to open it, or to use a webroot. */
  publish?: PublishChallenge | undefined
  /** Serves what was issued. */
  onIssued(): Promise<void>
}

const CHECK_MS = 60_000
/** Authorities count failures: five an hour and name at Let's Encrypt. */
const RETRIES: Backoff = { firstDelayMs: 15 * 60_000, longestDelayMs: 12 * 60 * 60_000 }

export function startIssuance({ config, clock, log, publish, onIssued }: IssuanceOptions) {
  let failures = 0
  let notBefore = Number.NEGATIVE_INFINITY

  async function orderIfDue(): Promise<void> {
    if (clock.now() < notBefore || !isRenewalDue(issuedCertificate(config, clock), clock)) return
    try {
      await issueAndKeep(config, publish)
    } catch (error) {
      const retryMs = delayAfter(RETRIES, ++failures)
      notBefore = clock.now() + retryMs
      const fields = { names: config.acmeDomains, reason: (error as Error).message, retryInSeconds: retryMs / 1000 }
      log.error(fields, 'certificate not issued')
      return
    }
    failures = 0
    notBefore = Number.NEGATIVE_INFINITY
    await onIssued()
  }

  const ordering = createSingleFlight(orderIfDue)
  const stop = startTasks([
    { everyMs: CHECK_MS, run: ordering.join, log, failure: 'the issued certificate was not checked' },
  ])

  return {
    check: ordering.join,

    /** Tries at once, whatever failed before: the operator may have mended it. */
    retry(): Promise<void> {
      notBefore = Number.NEGATIVE_INFINITY
      return ordering.join()
    },

    /** Resolves once an order under way is over, which may take minutes. */
    stop,
  }
}
