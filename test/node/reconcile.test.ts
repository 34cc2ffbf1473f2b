/** What every driver's reconciler does: it reports each thing once, removes what it is told, and holds what looks like a fault. */
import { afterEach, describe, expect, test } from 'bun:test'
import type { Driver, Observed } from '../../src/node/driver.ts'
import { type Guard, lacksTooMany, type WholeAnswer } from '../../src/node/guard.ts'
import type {
  DesiredChanges,
  DesiredSite,
  DesiredSubscription,
  Held,
  NodeLink,
  NodeReport,
} from '../../src/node/protocol.ts'
import { createReconciler, type Reconciler } from '../../src/node/reconcile.ts'
import { createTestLog } from '../harness/log.ts'
import { until } from '../harness/until.ts'

const site = (id: number, more: Partial<DesiredSite> = {}): DesiredSite => ({
  id,
  generation: 1,
  state: 'serving',
  names: [`site-${id}.test`],
  kind: 'static',
  phpVersion: null,
  spa: false,
  publicDir: null,
  release: null,
  toUnpack: [],
  kept: [],
  ...more,
})
const subscription = (id: number, sites: DesiredSite[], more: Partial<DesiredSubscription> = {}) => ({
  id,
  state: 'active' as const,
  sites,
  ...more,
})

/** Serves from a map, and fails where it is told to. */
function createMapDriver() {
  const served = new Map<number, number>()
  const files = new Set<number>()
  const users = new Set<number>()
  const failing = new Set<string>()
  const repaired = new Map<number, string[]>()
  const step = (name: string) => {
    if (failing.has(name)) throw new Error(`${name} fails`)
  }
  const driver: Driver = {
    async serve({ id }, { id: siteId, generation }): Promise<Observed> {
      step(`serve ${siteId}`)
      users.add(id)
      files.add(siteId)
      served.set(siteId, generation)
      const what = repaired.get(siteId)
      repaired.delete(siteId)
      return { state: 'serving', documentRoot: `/${siteId}`, ...(what && { repaired: what }) }
    },
    async remove(_, siteId) {
      step(`remove ${siteId}`)
      served.delete(siteId)
      files.delete(siteId)
    },
    async removeSubscription(id) {
      step(`remove subscription ${id}`)
      users.delete(id)
    },
    servedSites: async () => [...served.keys()],
    stopServing: async (id) => void served.delete(id),
    sitesWithFiles: async () => [...files],
    stop: async () => undefined,
  }
  return { driver, served, files, users, failing, repaired }
}

/** A panel that is told what it wants. */
function createTestPanel() {
  let revision = 0
  let news = Promise.withResolvers<void>()
  const state = new Map<number, { revision: number; subscription: DesiredSubscription }>()
  const reports: NodeReport[] = []
  const panel = {
    installationId: 'one',
    epoch: 'first',
    reports,
    /** As a restored database: what it does not have it does not name. */
    forget: (id: number) => state.delete(id),
    want(...subscriptions: DesiredSubscription[]) {
      for (const subscription of subscriptions) state.set(subscription.id, { revision: ++revision, subscription })
      news.resolve()
      news = Promise.withResolvers<void>()
    },
    sites: () => reports.flatMap(({ sites }) => sites),
  }
  const link: NodeLink = {
    async changesAfter(after): Promise<DesiredChanges> {
      const changed = [...state.values()].filter((one) => one.revision > after)
      const { installationId, epoch } = panel
      const subscriptions = changed.map((one) => one.subscription)
      return { installationId, epoch, revision, subscriptions, hasMore: false }
    },
    async waitForChange(after, signal) {
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      if (!signal.aborted && revision <= after) await Promise.race([news.promise, aborted])
    },
    async report(report) {
      reports.push(structuredClone(report))
    },
  }
  return { ...panel, panel, link }
}

/** As the agent's, in memory. */
function createMemoryGuard() {
  let epoch: string | undefined
  let highest = 0
  let accepted = Promise.withResolvers<void>()
  let isAccepted = false
  const guard: Guard = {
    async check(answer: WholeAnswer): Promise<Held | undefined> {
      const isNew = epoch !== undefined && epoch !== answer.epoch
      if (isAccepted || (!isNew && !lacksTooMany(answer))) {
        isAccepted = false
        epoch = answer.epoch
        return undefined
      }
      return { code: isNew ? 'new_epoch' : 'too_many_absent', message: 'held' }
    },
    accepted: (signal) =>
      Promise.race([
        accepted.promise,
        new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
      ]),
    async remember(ids) {
      highest = Math.max(highest, ...ids)
    },
    highestSubscriptionId: () => highest,
  }
  return {
    guard,
    accept() {
      isAccepted = true
      accepted.resolve()
      accepted = Promise.withResolvers<void>()
    },
  }
}

const running = new Set<Reconciler>()
afterEach(async () => {
  for (const one of running) await one.stop()
  running.clear()
})

function start() {
  const { panel, link } = createTestPanel()
  const mapped = createMapDriver()
  const memory = createMemoryGuard()
  const log = createTestLog()
  const reconciler = createReconciler({
    link,
    driver: mapped.driver,
    guard: memory.guard,
    durable: () => undefined,
    log,
  })
  running.add(reconciler)
  return { panel, link, ...mapped, ...memory, log, reconciler }
}

const statusOf = (reports: NodeReport[]) => reports.findLast(({ node }) => node)?.node

test('a link that is closed first is no failure', async () => {
  const { panel, link, log, reconciler } = start()
  panel.want(subscription(1, [site(1)]))
  const closed = Promise.withResolvers<never>()
  const asked = Promise.withResolvers<void>()
  link.waitForChange = () => {
    asked.resolve()
    return closed.promise
  }
  reconciler.start()
  await asked.promise
  closed.reject(new DOMException('The operation was aborted.', 'AbortError'))
  await reconciler.stop()
  expect(log.lines).toEqual([])
})

describe('a site', () => {
  test('is served and reported once, however often everything is compared', async () => {
    const { panel, reconciler, served } = start()
    panel.want(subscription(1, [site(1)]))
    reconciler.start()
    await until('its report', () => panel.sites().length === 1)
    await reconciler.compareAll()
    panel.want(subscription(2, [site(2)]))
    await until('the other', () => served.has(2) && panel.sites().length === 2)
    expect(panel.sites().map(({ siteId }) => siteId)).toEqual([1, 2])
  })

  test('that fails again and again is reported once, stops no other, and is reported when it is served', async () => {
    const { panel, reconciler, failing, served } = start()
    failing.add('serve 1')
    panel.want(subscription(1, [site(1), site(2)]))
    reconciler.start()
    await until('the second', () => served.has(2))
    while (reconciler.failures() < 4) {
      await reconciler.compareAll()
      await Bun.sleep(5)
    }
    const ofFirst = () => panel.sites().filter(({ siteId }) => siteId === 1)
    expect(ofFirst()).toMatchObject([{ state: 'failed', failure: { code: 'server_error', retryable: true } }])
    failing.clear()
    await reconciler.compareAll()
    await until('its report', () => ofFirst().length === 2)
    expect(ofFirst()[1]).toMatchObject({ state: 'serving' })
  })

  test('is tried again by itself', async () => {
    const { panel, reconciler, failing, served } = start()
    failing.add('serve 1')
    panel.want(subscription(1, [site(1)]))
    reconciler.start()
    await until('the failure', () => reconciler.failures() === 1)
    failing.clear()
    await until('the next attempt', () => served.has(1))
  })

  test('that was repaired is reported with what was repaired, once', async () => {
    const { panel, reconciler, repaired, served } = start()
    panel.want(subscription(1, [site(1)]))
    reconciler.start()
    await until('its report', () => panel.sites().length === 1)
    repaired.set(1, ['a link'])
    await reconciler.compareAll()
    await until('the repair', () => panel.sites().length === 2)
    await reconciler.compareAll()
    panel.want(subscription(2, [site(2)]))
    await until('the other', () => served.has(2) && panel.sites().length === 3)
    expect(panel.sites()[1]).toMatchObject({ siteId: 1, repaired: ['a link'] })
    expect(panel.sites()[2]?.siteId).toBe(2)
  })
})

describe('a subscription', () => {
  const deleting = (id: number, siteId: number) =>
    subscription(id, [site(siteId, { state: 'deleting' })], { state: 'deleting' })

  test('is removed after its last site', async () => {
    const { panel, reconciler, users } = start()
    panel.want(subscription(1, [site(1)]))
    reconciler.start()
    await until('its user', () => users.has(1))
    panel.want(deleting(1, 1))
    await until('its end', () => panel.reports.some(({ removedSubscriptions }) => removedSubscriptions.includes(1)))
    expect(users.size).toBe(0)
  })

  test('is not removed before a site of it that cannot be removed, and is then', async () => {
    const { panel, reconciler, users, failing } = start()
    panel.want(subscription(1, [site(1)]))
    reconciler.start()
    await until('its user', () => users.has(1))
    failing.add('remove 1')
    panel.want(deleting(1, 1))
    await until('the failure', () => reconciler.failures() === 1)
    expect(users.has(1)).toBeTrue()
    failing.clear()
    await until('its end', () => panel.reports.some(({ removedSubscriptions }) => removedSubscriptions.includes(1)))
    expect(users.size).toBe(0)
  })

  test('that cannot be removed is tried again by itself', async () => {
    const { panel, reconciler, users, failing } = start()
    panel.want(subscription(1, [site(1)]))
    reconciler.start()
    await until('its user', () => users.has(1))
    failing.add('remove subscription 1')
    panel.want(deleting(1, 1))
    await until('the failure', () => reconciler.failures() === 1)
    expect(panel.reports.flatMap(({ removedSubscriptions }) => removedSubscriptions)).toEqual([])
    failing.clear()
    await until('its end', () => panel.reports.some(({ removedSubscriptions }) => removedSubscriptions.includes(1)))
  })
})

describe('a node', () => {
  test('serves no more what no state names, keeps its files, and says so', async () => {
    const { panel, reconciler, served, files } = start()
    panel.want(subscription(1, [site(1)]), subscription(2, [site(2)]))
    reconciler.start()
    await until('both', () => served.size === 2)
    panel.forget(2)
    await reconciler.compareAll()
    await until('the report', () => statusOf(panel.reports)?.orphans.length === 1)
    expect([served.has(2), files.has(2)]).toEqual([false, true])
    expect(statusOf(panel.reports)).toEqual({ held: null, orphans: [2], highestSubscriptionId: 2 })
  })

  test('does nothing at a new epoch, serves on, says so, and goes on when that is accepted', async () => {
    const { panel, reconciler, served, files, accept } = start()
    panel.want(subscription(1, [site(1)]))
    reconciler.start()
    await until('the site', () => statusOf(panel.reports) && served.has(1))
    panel.epoch = 'second'
    panel.want(subscription(1, [site(1, { state: 'deleting' })]), subscription(2, [site(2)]))
    await until('the report', () => statusOf(panel.reports)?.held?.code)
    expect(statusOf(panel.reports)?.held?.code).toBe('new_epoch')
    expect([served.get(1), files.has(1), served.has(2)]).toEqual([1, true, false])
    accept()
    await until('what it held', () => served.has(2) && !served.has(1) && !statusOf(panel.reports)?.held)
  })

  test('does nothing when too many sites are absent, and serves on', async () => {
    const { panel, reconciler, served } = start()
    const ids = Array.from({ length: 20 }, (_, one) => one + 1)
    panel.want(...ids.map((id) => subscription(id, [site(id)])))
    reconciler.start()
    await until('all', () => served.size === 20 && statusOf(panel.reports))
    for (const id of ids.slice(0, 11)) panel.forget(id)
    panel.want(subscription(20, [site(20, { generation: 2 })]))
    await until('the change', () => served.get(20) === 2)
    await reconciler.compareAll()
    await until('the report', () => statusOf(panel.reports)?.held?.code)
    expect(statusOf(panel.reports)?.held?.code).toBe('too_many_absent')
    expect(served.size).toBe(20)
  })
})

test.each([
  [100, 10, false],
  [100, 11, true],
  [11, 11, true],
  [10, 10, false],
  [110, 11, false],
  [1000, 100, false],
  [1000, 101, true],
])('of %d sites, %d that are absent are too many: %p', (served, absent, expected) => {
  expect(lacksTooMany({ served, absent })).toBe(expected)
})
