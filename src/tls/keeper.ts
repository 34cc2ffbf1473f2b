/** Keeps the served certificate in step with its files, whether the panel, certbot or a person renewed it. */
import { createSingleFlight } from '../jobs/single-flight.ts'
import { startTasks } from '../jobs/task.ts'
import type { Log } from '../log/log.ts'
import type { Certificate } from './pem.ts'

export type CertificateKeeperOptions = {
  /** The one that is served. */
  current: Certificate
  /** The one that should be served; it renews the panel's own when its time has come. @throws Error for a bad one */
  load(): Promise<Certificate | undefined>
  /** Serves another one. @throws Error when it cannot */
  change(certificate: Certificate): Promise<void>
  log: Log
}

export type CertificateKeeper = ReturnType<typeof createCertificateKeeper>

const CHECK_MS = 60_000

export function createCertificateKeeper({ current, load, change, log }: CertificateKeeperOptions) {
  let complaint: string | undefined

  async function look(): Promise<void> {
    try {
      const next = await load()
      complaint = undefined
      if (!next || (next.cert === current.cert && next.key === current.key)) return
      await change(next)
      current = next
      const { path, fingerprint, expiresAt } = next
      log.info({ path, fingerprint, expiresAt: new Date(expiresAt).toISOString() }, 'certificate changed')
    } catch (error) {
      const reason = (error as Error).message
      // Said once and not every minute.
      if (reason !== complaint) log.error({ reason }, 'certificate not changed; the current one stays in use')
      complaint = reason
    }
  }

  const looking = createSingleFlight(look)
  const stop = startTasks([{ everyMs: CHECK_MS, run: looking.next, log, failure: 'the certificate was not checked' }])

  return {
    /** Looks at the files as they are now. Never throws: with a bad certificate the one in use stays. */
    check: looking.next,

    /** As `check`, but repeats earlier complaints: an operator is waiting for the result. */
    recheck(): Promise<void> {
      complaint = undefined
      return looking.next()
    },

    stop,
  }
}
