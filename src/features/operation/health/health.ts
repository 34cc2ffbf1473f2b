/** Checks everything that serving requests depends on, when a client asks. */
import { rm, writeFile } from 'node:fs/promises'
import type { Clock } from '../../../core/clock.ts'
import { dataPaths } from '../../../data-directory.ts'
import { isFull } from '../../../db/failures.ts'
import { createSingleFlight } from '../../../jobs/single-flight.ts'
import { diskSpace } from '../../../system/disk-space.ts'

export const CHECKS = ['service', 'database', 'migrations', 'disk', 'certificate', 'outbox'] as const
export type CheckName = (typeof CHECKS)[number]

/** `warning`: the operator should act, but requests are served. `reason` tells strangers nothing they could use. */
export type Check = { status: 'ok' } | { status: 'warning' | 'failing'; reason: string }

export type Checks = Record<CheckName, Check>

export type HealthOptions = {
  clock: Clock
  /** The data directory, to which the check writes a file. */
  directory: string
  /** False during startup and draining. */
  isServing(): boolean
  /** Resolves when the database has responded. */
  probe(): Promise<void>
  /** What keeps changes from being stored, worded for strangers; undefined if nothing does. */
  storeTrouble(): string | undefined
  hasOurSchema(): Promise<boolean>
  /** Milliseconds since the epoch; undefined over plain HTTP. */
  certificateExpiresAt(): number | undefined
  /** Since when an email that could not be sent has been waiting; milliseconds since the epoch. */
  emailsWaitingSince(): Promise<number | undefined>
}

export type Health = ReturnType<typeof createHealth>

const DAY_MS = 86_400_000
const EXPIRY_WARNING_DAYS = 14
const MAIL_WARNING_MS = 15 * 60 * 1000

const ok: Check = { status: 'ok' }
const warning = (reason: string): Check => ({ status: 'warning', reason })
const failing = (reason: string): Check => ({ status: 'failing', reason })

export function createHealth(options: HealthOptions) {
  const { clock, directory, isServing, probe, storeTrouble, hasOurSchema, certificateExpiresAt, emailsWaitingSince } =
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

  /** A file system gone read-only reports free space as before, and the probe gives SQLite nothing to write. */
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
    // Whether it bothers clients is up to them: behind a proxy, perhaps none ever sees it.
    if (days <= 0) return warning('has expired')
    return days < EXPIRY_WARNING_DAYS ? warning(`expires in ${Math.ceil(days)} days`) : ok
  }

  async function outbox(): Promise<Check> {
    const since = await emailsWaitingSince()
    return since !== undefined && clock.now() - since > MAIL_WARNING_MS
      ? warning('emails cannot be sent; the log says why')
      : ok
  }

  async function look(): Promise<Checks> {
    // If it cannot be read, its own check says so, and no other.
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
    /** One check serves all concurrent callers: they must not queue up in front of a slow database. */
    check: createSingleFlight(look).join,
  }
}

/** What keeps requests from being served, in words; undefined if nothing does. */
export function failuresOf(checks: Checks): string | undefined {
  const failures = CHECKS.flatMap((name) => {
    const check = checks[name]
    return check.status === 'failing' ? [`${name} ${check.reason}`] : []
  })
  return failures.length > 0 ? failures.join('; ') : undefined
}
