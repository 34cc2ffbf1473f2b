/** One master of PHP-FPM: asleep until the first request, running, replaced when its configuration changes, or failed. */
import { createHash } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { type Backoff, delayAfter } from '../../jobs/backoff.ts'
import type { Log } from '../../log/log.ts'
import type { Failure } from '../../node/protocol.ts'
import { type PhpPlaces, removeSettings, wantedText, writeSettings } from './files.ts'
import { type Fpm, killOrphans, launch } from './launch.ts'
import { configurationOf, environmentOf, type MasterSpec, type PoolSpec, userIdOf } from './pool.ts'
import { openSockets, type SiteSockets, type SocketOptions } from './sockets.ts'
import type { PhpVersion } from './versions.ts'

export type MasterOptions = SocketOptions & {
  layout: PhpPlaces
  /** Undefined where it is not installed. */
  installed(version: string): PhpVersion | undefined
  /** Put before the command of a master. */
  supervisorOf(spec: MasterSpec): readonly string[]
  clock: Clock
  log: Log
  /** Called when `failure` is another one. */
  onFailure(): void
  /** Without a request for so long, a master is ended. */
  idleMs: number
}

export type Master = ReturnType<typeof createMaster>

const BACKOFF: Backoff = { firstDelayMs: 1000, longestDelayMs: 5 * 60 * 1000 }
/** One that ends sooner has failed; one that has run for so long had a reason of its own. */
const STEADY_MS = 60_000
/** Starts at once that are tried before the first delay: someone may have killed it once. */
const FREE_CRASHES = 2
const DRAIN_STEP_MS = 100
/** Beside the workers of each site, for what a script starts. */
const SPARE_PROCESSES = 64

export function createMaster(options: MasterOptions, first: MasterSpec) {
  const { layout, installed, supervisorOf, clock, log, onFailure, idleMs } = options
  const subject = { subscription_id: first.subscriptionId, version: first.version }
  let spec = first
  let sockets: SiteSockets | undefined
  /** What it was started with, or is to be started with. */
  let loaded: string | undefined
  let running: { fpm: Fpm; since: number; lastBusy: number } | undefined
  let failures = 0
  let failure: Failure | undefined
  let retry: ReturnType<typeof setTimeout> | undefined
  let isStopped = false
  /** One change at a time. */
  let last: Promise<unknown> = Promise.resolve()

  function inTurn<T>(change: () => Promise<T>): Promise<T> {
    const done = last.then(change)
    last = done.catch(() => undefined)
    return done
  }

  function setFailure(next: Failure | undefined): void {
    if (failure?.code === next?.code && failure?.retryAt === next?.retryAt) return
    failure = next
    onFailure()
  }

  /** What a master of today would be started with. */
  const wanted = () =>
    createHash('sha256')
      .update(`${installed(spec.version)?.build}\0${wantedText(spec, layout)}`)
      .digest('base64')

  const openFor = (pools: readonly PoolSpec[]) =>
    openSockets(
      options,
      pools.map(({ siteId }) => siteId),
    )

  /** New clients wait at sockets of their own from now on, until the first of them wakes a master. */
  function sleep(): void {
    const fresh = openFor(spec.pools)
    const before = sockets
    sockets = fresh
    fresh.publish()
    fresh.watch(() => void inTurn(() => wake(fresh)).catch(logLost))
    // Of one that runs they are closed with it.
    if (!running) before?.close()
  }

  /** @throws Error where it does not start */
  async function start(on: SiteSockets): Promise<Fpm> {
    const { version, pools, limits } = spec
    const php = installed(version)
    if (!php) throw new Error(`PHP ${version} is not installed`)
    await writeSettings(spec, layout)
    on.release()
    return launch({
      program: php.program,
      configuration: configurationOf(layout, spec),
      uid: userIdOf(spec),
      sockets: on.descriptors(),
      environment: environmentOf(spec),
      maxProcesses: SPARE_PROCESSES + limits.workers * pools.length,
      supervisor: supervisorOf(spec),
      log,
    })
  }

  function adopt(fpm: Fpm, on: SiteSockets): void {
    const now = clock.elapsedMs()
    running = { fpm, since: now, lastBusy: now }
    setFailure(undefined)
    void fpm.exited.then(() => inTurn(() => ended(fpm, on))).catch(logLost)
  }

  /** For the first client; nothing where the sockets were replaced since it came. */
  async function wake(on: SiteSockets): Promise<void> {
    if (isStopped || running || on !== sockets) return
    try {
      adopt(await start(on), on)
    } catch (error) {
      fail(error)
    }
  }

  /** Clients are refused at once rather than left to wait, until it is tried again. */
  function fail(error: unknown): void {
    failures++
    const delayMs = delayAfter(BACKOFF, failures)
    log.error({ ...subject, err: error, retry_in_ms: delayMs }, 'PHP of a subscription does not run')
    sockets?.close()
    sockets = undefined
    setFailure(failedUntil(spec.version, clock.now() + delayMs))
    clearTimeout(retry)
    retry = setTimeout(() => void inTurn(tryAgain).catch(logLost), delayMs)
  }

  /** Without waiting for a client: only a start shows whether it is well again. */
  async function tryAgain(): Promise<void> {
    if (isStopped || sockets || !installed(spec.version)) return
    sleep()
    if (sockets) await wake(sockets)
  }

  /** It was killed, or has crashed: clients who wait are served by another. */
  async function ended(fpm: Fpm, on: SiteSockets): Promise<void> {
    if (isStopped || running?.fpm !== fpm) return
    const lastedMs = clock.elapsedMs() - running.since
    running = undefined
    failures = lastedMs >= STEADY_MS ? 1 : failures + 1
    log.warn({ ...subject, lasted_ms: lastedMs }, 'PHP of a subscription has ended by itself')
    await killOrphans(userIdOf(spec))
    if (failures > FREE_CRASHES) return fail(new Error('it ended soon after its start, again and again'))
    if (on.hasClient()) return wake(on)
    sleep()
  }

  /** Another master takes over; the one before it goes on with the requests that it has. */
  async function replace(before: Fpm, beforeSockets: SiteSockets): Promise<void> {
    const fresh = openFor(spec.pools)
    try {
      const fpm = await start(fresh)
      fresh.publish()
      sockets = fresh
      retire(before, beforeSockets)
      adopt(fpm, fresh)
      failures = 0
    } catch (error) {
      fresh.close()
      throw error
    }
  }

  function retire(fpm: Fpm, its: SiteSockets): void {
    its.withdraw()
    void drain(fpm, its).catch(logLost)
  }

  /** Not told to end while it is busy: the signal would cut short what a script waits for. */
  async function drain(fpm: Fpm, its: SiteSockets): Promise<void> {
    const longestMs = spec.limits.seconds * 1000
    for (let waitedMs = 0; waitedMs < longestMs; waitedMs += DRAIN_STEP_MS) {
      await Bun.sleep(DRAIN_STEP_MS)
      if (fpm.hasExited() || !(fpm.isBusy() || its.hasClient())) break
    }
    await fpm.end()
    its.close()
  }

  /** Gives up what runs or waits, without a new one. */
  function release(): void {
    clearTimeout(retry)
    if (running && sockets) retire(running.fpm, sockets)
    else sockets?.close()
    running = undefined
    sockets = undefined
    loaded = undefined
  }

  function logLost(err: unknown): void {
    log.error({ ...subject, err }, 'PHP of a subscription could not be changed')
  }

  async function apply(next: MasterSpec): Promise<void> {
    // Somebody waits: they are served as it was.
    if (!running && sockets?.hasClient()) await wake(sockets)
    spec = next
    if (!installed(next.version)) {
      release()
      return setFailure(notInstalled(next.version))
    }
    const isLoaded = loaded === wanted()
    if (isLoaded && sockets?.arePublished()) return setFailure(undefined)
    if (isLoaded && !sockets && failure) return
    clearTimeout(retry)
    if (running && sockets) {
      try {
        await replace(running.fpm, sockets)
      } catch (error) {
        log.error({ ...subject, err: error }, 'PHP of a subscription goes on as it was: another does not start')
        return setFailure(failedUntil(next.version, null))
      }
    } else {
      failures = 0
      setFailure(undefined)
      sleep()
    }
    loaded = wanted()
  }

  /** A master that nobody needs ends. */
  async function look(): Promise<void> {
    if (!running || !sockets) return
    const now = clock.elapsedMs()
    if (running.fpm.isBusy()) running.lastBusy = now
    if (now - running.since >= STEADY_MS) failures = 0
    if (now - running.lastBusy < idleMs) return
    const { fpm } = running
    const its = sockets
    sleep()
    running = undefined
    retire(fpm, its)
  }

  return {
    /** Makes it what is wanted; what is so already stays untouched. @throws Error of the system */
    apply: (next: MasterSpec): Promise<void> => inTurn(async () => (isStopped ? undefined : apply(next))),

    failure: () => failure,

    isRunning: () => running !== undefined,

    /** To be called again and again, more often than a worker stays idle. */
    look: (): Promise<void> => inTurn(async () => (isStopped ? undefined : look())),

    /** No client is taken from now on; requests may end. Its settings go too. */
    stop: (): Promise<void> =>
      inTurn(async () => {
        isStopped = true
        release()
        await removeSettings(spec, layout)
      }),

    /** Forgets it as it is: what runs goes on without this process. */
    detach(): void {
      isStopped = true
      clearTimeout(retry)
    },
  }
}

const failedUntil = (version: string, retryAt: number | null): Failure => ({
  code: 'php_unavailable',
  message: `PHP ${version} does not start; the operator of the server finds the reason in its log`,
  retryable: true,
  retryAt,
})

const notInstalled = (version: string): Failure => ({
  code: 'php_unavailable',
  message: `PHP ${version} is not installed on the server; choose another version`,
  retryable: false,
  retryAt: null,
})
