/** PHP of a node, as its driver uses it: whole subscriptions, each made what it should be once for all of its sites. */
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../log/log.ts'
import type { DesiredSite, DesiredSubscription, Failure } from '../../node/protocol.ts'
import { createClientWatch } from '../../system/listening-socket.ts'
import type { NodeLayout } from '../layout.ts'
import { createMasters } from './masters.ts'
import { findSupervisor } from './supervisor.ts'
import { installedVersions, type PhpVersion } from './versions.ts'

export type PhpOptions = {
  layout: NodeLayout
  /** The group of the web server. */
  webGid: number
  /** Whether every field of a site may be believed; another is left out, and stops nobody else. */
  isRight(subscription: DesiredSubscription, site: DesiredSite): boolean
  clock: Clock
  log: Log
}

export type Php = Awaited<ReturnType<typeof createPhp>>

/** More often than a worker stays idle. */
export const PHP_LOOK_MS = 5000
/** Starting a master again takes 100 ms; running, it takes some 12 MB. */
const IDLE_MS = 2 * 60 * 1000

export async function createPhp({ layout, webGid, isRight, clock, log }: PhpOptions) {
  let versions: PhpVersion[] = await installedVersions()
  const watch = createClientWatch()
  const masters = createMasters({
    layout,
    webGid,
    watch,
    installed: (version) => versions.find((one) => one.version === version),
    supervisorOf: await findSupervisor(log),
    clock,
    log,
    // The state of a site is reported when it is next compared.
    onChange: () => undefined,
    idleMs: IDLE_MS,
  })
  /** What is under way or done, by the very state that was told. */
  const applied = new WeakMap<DesiredSubscription, Promise<void>>()

  function apply(subscription: DesiredSubscription): Promise<void> {
    const known = applied.get(subscription)
    if (known) return known
    const sites = subscription.sites.filter((site) => isRight(subscription, site))
    const done = masters.apply({ ...subscription, sites })
    applied.set(subscription, done)
    // It is tried again with the same state.
    done.catch(() => applied.delete(subscription))
    return done
  }

  return {
    /** What is installed now, the newest first. A version that has come or gone, or was upgraded, counts from now on. */
    async versions(): Promise<string[]> {
      versions = await installedVersions()
      return versions.map(({ version }) => version)
    },

    /**
     * Makes PHP of a site's subscription what it should be.
     *
     * @returns why PHP of this site does not run; undefined where it does, or would, or is not wanted
     * @throws Error of the system
     */
    async serve(subscription: DesiredSubscription, site: DesiredSite): Promise<Failure | undefined> {
      await apply(subscription)
      return masters.failureOf(subscription.id, site.id)
    },

    removeSite: masters.removeSite,
    removeSubscription: masters.removeSubscription,
    look: masters.look,

    /** PHP itself goes on. */
    stop(): void {
      masters.close()
      watch.close()
    },
  }
}
