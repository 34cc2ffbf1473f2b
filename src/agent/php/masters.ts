/** The masters of PHP-FPM of all subscriptions: one for each version that a site of a subscription wants. */

import { DEFAULT_PHP_LIMITS, NO_SITE_PHP } from '../../node/php.ts'
import type { DesiredSubscription, Failure } from '../../node/protocol.ts'
import { uidOf } from '../layout.ts'
import { endProcessesOf, type Process, processesOf, signalAs, titleOf } from '../processes.ts'
import { removeGuard } from './files.ts'
import { createMaster, type Master, type MasterOptions } from './master.ts'
import type { MasterSpec } from './pool.ts'

export type Masters = ReturnType<typeof createMasters>

export type MastersOptions = Omit<MasterOptions, 'onFailure'> & {
  /** Called when PHP of a subscription fails, or is well again. */
  onChange(subscriptionId: number): void
}

type Subscription = {
  /** By version. */
  masters: Map<string, Master>
  specs: readonly MasterSpec[]
  /** Whether its user was left without a process, and without PHP, which could start another. */
  isEnded: boolean
  /** One change at a time. */
  last: Promise<unknown>
}

export function createMasters(options: MastersOptions) {
  const { layout, onChange } = options
  const subscriptions = new Map<number, Subscription>()
  /** What an agent before this one has started. */
  const strays = Map.groupBy(processesOf().filter(isMaster), ({ uid }) => uid)

  /** By its title, which a customer can imitate, and only to his own harm. */
  function isMaster({ pid }: Process): boolean {
    return titleOf(pid).startsWith(`php-fpm: master process (${layout.phpSettings}/`)
  }

  /** They have sockets that nobody finds any longer; requests may end. */
  async function endStrays(uid: number): Promise<void> {
    const pids = (strays.get(uid) ?? []).map(({ pid }) => pid)
    strays.delete(uid)
    await signalAs(uid, 'QUIT', pids)
  }

  function entryOf(subscriptionId: number): Subscription {
    const entry = subscriptions.get(subscriptionId) ?? {
      masters: new Map(),
      specs: [],
      isEnded: false,
      last: Promise.resolve(),
    }
    subscriptions.set(subscriptionId, entry)
    return entry
  }

  function inTurn<T>(subscriptionId: number, change: (entry: Subscription) => Promise<T>): Promise<T> {
    const entry = entryOf(subscriptionId)
    const done = entry.last.then(() => change(entry))
    entry.last = done.catch(() => undefined)
    return done
  }

  async function make(entry: Subscription, specs: readonly MasterSpec[]): Promise<void> {
    const before = siteIdsOf(entry.specs)
    entry.specs = specs
    // A site that changes its version is taken over before it is given up.
    for (const spec of specs.toSorted(
      (one, other) => Number(entry.masters.has(one.version)) - Number(entry.masters.has(other.version)),
    )) {
      let master = entry.masters.get(spec.version)
      if (!master) {
        master = createMaster({ ...options, onFailure: () => onChange(spec.subscriptionId) }, spec)
        entry.masters.set(spec.version, master)
      }
      await master.apply(spec)
    }
    const kept = new Set(specs.map(({ version }) => version))
    for (const [version, master] of entry.masters) {
      if (kept.has(version)) continue
      entry.masters.delete(version)
      await master.stop()
    }
    for (const siteId of before.difference(siteIdsOf(specs))) await removeGuard(siteId, layout)
  }

  return {
    /**
     * Makes PHP of a subscription what is wanted. A suspended one gets none, and nothing of its user goes on.
     *
     * @throws Error of the system
     */
    apply: (subscription: DesiredSubscription): Promise<void> =>
      inTurn(subscription.id, async (entry) => {
        const uid = uidOf(subscription.id)
        await make(entry, specsOf(subscription))
        const isActive = subscription.state === 'active'
        if (isActive) await endStrays(uid)
        else if (!entry.isEnded) await endProcessesOf(uid)
        entry.isEnded = !isActive
      }),

    /** Ends PHP of one site, which goes on with no request. @throws Error of the system */
    async removeSite(siteId: number): Promise<void> {
      for (const [subscriptionId, { specs }] of subscriptions) {
        if (versionOf(specs, siteId) === undefined) continue
        await inTurn(subscriptionId, (entry) => make(entry, without(entry.specs, siteId)))
      }
    },

    /** Ends PHP of a subscription, and every process of its user. @throws Error of the system */
    removeSubscription: (subscriptionId: number): Promise<void> =>
      inTurn(subscriptionId, async (entry) => {
        await make(entry, [])
        strays.delete(uidOf(subscriptionId))
        await endProcessesOf(uidOf(subscriptionId))
        subscriptions.delete(subscriptionId)
      }),

    /** Why PHP of a site does not run; undefined where it does, or would at the first request. */
    failureOf(subscriptionId: number, siteId: number): Failure | undefined {
      const entry = subscriptions.get(subscriptionId)
      return entry?.masters.get(versionOf(entry.specs, siteId) ?? '')?.failure()
    },

    /** Masters that run now. */
    countRunning: (): number => allMasters().filter((master) => master.isRunning()).length,

    /** Ends masters that nobody needs, and notices clients whose signal was lost. Call it every ten seconds. */
    async look(): Promise<void> {
      options.watch.look()
      for (const master of allMasters()) await master.look()
    },

    /** What runs goes on, for the next agent to take over. */
    close(): void {
      for (const master of allMasters()) master.detach()
    },
  }

  function allMasters(): Master[] {
    return [...subscriptions.values()].flatMap(({ masters }) => [...masters.values()])
  }
}

const siteIdsOf = (specs: readonly MasterSpec[]): Set<number> =>
  new Set(specs.flatMap(({ pools }) => pools.map(({ siteId }) => siteId)))

const versionOf = (specs: readonly MasterSpec[], siteId: number): string | undefined =>
  specs.find(({ pools }) => pools.some((pool) => pool.siteId === siteId))?.version

const without = (specs: readonly MasterSpec[], siteId: number): MasterSpec[] =>
  specs
    .map((spec) => ({ ...spec, pools: spec.pools.filter((pool) => pool.siteId !== siteId) }))
    .filter(({ pools }) => pools.length > 0)

/** A master for each version, with the sites that want it, always in the same order. */
function specsOf({
  id: subscriptionId,
  state,
  sites,
  php: limits = DEFAULT_PHP_LIMITS,
}: DesiredSubscription): MasterSpec[] {
  if (state !== 'active') return []
  const served = sites.filter((site) => site.kind === 'php' && site.state === 'serving' && site.phpVersion !== null)
  return [...Map.groupBy(served, (site) => site.phpVersion ?? '')].map(([version, all]) => ({
    subscriptionId,
    version,
    limits,
    pools: all
      .toSorted((one, other) => one.id - other.id)
      .map(({ id: siteId, php: { settings, noPhpIn } = NO_SITE_PHP, environment = [] }) => ({
        siteId,
        settings: Object.fromEntries(settings.map(({ name, value }) => [name, value])),
        noPhpIn,
        environment,
      })),
  }))
}
