/** Checks everything that serving requests depends on, when a client asks. */
import { rm, writeFile } from 'node:fs/promises'
import type { Clock } from '../../../core/clock.ts'
import { dataPaths } from '../../../data-directory.ts'
import { isFull } from '../../../db/failures.ts'
import { createSingleFlight } from '../../../jobs/single-flight.ts'
import { diskSpace } from '../../../system/disk-space.ts'

export const CHECKS = ['service', 'database', 'migrations', 'disk', 'certificate', 'outbox'] as const
export type CheckName = (typeof CHECKS)[number]

/** `warning`: something for the operator to mend, while requests are served. `reason` tells a stranger nothing to use. */
export type Check = { status: 'ok' } | { status: 'warning' | 'failing'; reason: string }

export type Checks = Record<CheckName, Check>

export type HealthOptions = {
  clock: Clock
  /** The data directory; a file is written there. */
  directory: string
  /** False while starting and draining. */
  isServing(): boolean
  /** Resolves when the database has answered. */
  probe(): Promise<void>
  /** What keeps changes from being stored, in words for strangers; undefined when nothing does. */
  storeTrouble(): string | undefined
  hasOurSchema(): Promise<boolean>
  /** Milliseconds since the epoch; undefined over plain HTTP. */
  certificateExpiresAt(): number | undefined
  /** Since when a mail waits that could not be sent; milliseconds since the epoch. */
  mailsWaitSince(): Promise<number | undefined>
}

export type Health = ReturnType<typeof createHealth>

const DAY_MS = 86_400_000
const EXPIRY_WARNING_DAYS = 14
const MAIL_WARNING_MS = 15 * 60 * 1000

const ok: Check = { status: 'ok' }
const warning = (reason: string): Check => ({ status: 'warning', reason })
const failing = (reason: string): Check => ({ status: 'failing', reason })

export function createHealth(options: HealthOptions) {
  const { clock, directory, isServing, probe, storeTrouble, hasOurSchema, certificateExpiresAt, mailsWaitSince } =
    options

  function database(answered: boolean): Check {
    const trouble = storeTrouble()
    if (trouble !== undefined) return failing(trouble)
    return answered ? ok : failing('does not answer')
  }

  async function disk(): Promise<Check> {
    const { state } = await diskSpace(directory)
    if (state === 'full') return failing('is full')
    const refusal = await writeProbe()
    if (refusal !== undefined) return failing(isFull(refusal) ? 'is full' : 'cannot be written')
    return state === 'nearly full' ? warning('is nearly full') : ok
  }

  /** A file system that has gone read-only tells its free space as before, and the probe gives SQLite nothing to write. */
  async function writeProbe(): Promise<unknown> {
    const path = dataPaths(directory).writeProbe
    try {
      await writeFile(path, '', { mode: 0o600 })
      await rm(path)
      return undefined
    } catch (error) {
      return error
    }
  }

  function certificate(): Check {
    const expiresAt = certificateExpiresAt()
    const days = expiresAt === undefined ? Number.POSITIVE_INFINITY : (expiresAt - clock.now()) / DAY_MS
    // Whether clients mind is for them: behind a proxy nobody may look at it.
    if (days <= 0) return warning('has expired')
    return days < EXPIRY_WARNING_DAYS ? warning(`expires in ${Math.ceil(days)} days`) : ok
  }

  async function outbox(): Promise<Check> {
    const since = await mailsWaitSince()
    return since !== undefined && clock.now() - since > MAIL_WARNING_MS
      ? warning('emails cannot be sent; the log says why')
      : ok
  }

  async function look(): Promise<Checks> {
    // What cannot be read is told by its own check, and no other.
    const answered = await probe().then(
      () => true,
      () => false,
    )
    const unknown = async () => warning('is not known while the database does not answer')
    return {
      service: isServing() ? ok : failing('is starting or stopping'),
      database: database(answered),
      migrations: !answered
        ? await unknown()
        : (await hasOurSchema())
          ? ok
          : failing('are not those of this version; start the version that migrated the database'),
      disk: await disk().catch(() => failing('cannot be read')),
      certificate: certificate(),
      outbox: await (answered ? outbox() : unknown()),
    }
  }

  return {
    /** One look for all who ask while it lasts: where the database is slow, they must not queue up before it. */
    check: createSingleFlight(look).join,
  }
}

/** What keeps requests from being served, in words; undefined when nothing does. */
export function failuresOf(checks: Checks): string | undefined {
  const failures = CHECKS.flatMap((name) => {
    const check = checks[name]
    return check.status === 'failing' ? [`${name} ${check.reason}`] : []
  })
  return failures.length > 0 ? failures.join('; ') : undefined
}
