/** Serves sites by our own nginx: users, directories and links. No configuration is written, and nothing is reloaded. */
import { lstatSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../log/log.ts'
import { type Driver, numbersToKeep, type Observed, stateOf } from '../node/driver.ts'
import type { CheckHealth } from '../node/health.ts'
import type { DesiredSite, DesiredSubscription, Failure } from '../node/protocol.ts'
import type { Releases } from '../node/releases.ts'
import type { SiteCertificates } from '../node/site-certificates.ts'
import { requireIds, wrongField } from './checks.ts'
import { type Generation, type Generations, nameOf, siteOfGeneration } from './generations.ts'
import type { Health } from './health.ts'
import { homeOf, type NodeLayout, siteOf } from './layout.ts'
import type { Names } from './names.ts'
import type { Php } from './php/php.ts'
import type { Prove } from './prove.ts'
import { type AgentReleaseFiles, isDirectory } from './release-files.ts'
import type { SshKeys } from './ssh-keys.ts'
import { AWAY_PAGE, pageOf, waitingRoot } from './states.ts'
import { wrongTlsField } from './tls/checks.ts'
import type { SiteLogs } from './traffic/site-logs.ts'
import type { Trash } from './trash.ts'
import { namesIn, type Tree } from './tree.ts'
import type { Users } from './users.ts'

export type NginxDriverOptions = {
  layout: NodeLayout
  /** As what the web server sees `layout.sites`. */
  view: string
  users: Users
  tree: Tree
  generations: Generations
  names: Names
  releases: Releases
  files: AgentReleaseFiles
  trash: Trash
  certificates: SiteCertificates
  prove: Prove
  health: Pick<Health, 'check'>
  php: Pick<Php, 'serve' | 'removeSite' | 'removeSubscription'>
  sshKeys: SshKeys
  siteLogs: Pick<SiteLogs, 'remove'>
  clock: Clock
  log: Log
}

type Target = { ok: true; root: string; documentRoot: string } | { ok: false; failure: Failure }

const DEFAULT_PUBLIC = 'public'

export function createNginxDriver(options: NginxDriverOptions): Driver {
  const { layout, view, users, tree, generations, names, releases, files, trash } = options
  const { certificates, prove, health, php, sshKeys, siteLogs, clock, log } = options
  /** By subscription, while its user and home are being made. */
  const making = new Map<number, Promise<string[]>>()
  /** By site, the names of its generations on disk. */
  const known = new Map<number, Set<string>>()

  function scan(): void {
    names.scan()
    known.clear()
    for (const name of generations.names()) {
      const siteId = siteOfGeneration(name)
      if (siteId !== undefined) known.set(siteId, (known.get(siteId) ?? new Set()).add(name))
    }
  }

  async function makeHome(subscriptionId: number): Promise<string[]> {
    const isOld = lstatSync(homeOf(layout, subscriptionId), { throwIfNoEntry: false }) !== undefined
    const wasMissing = await users.ensure(subscriptionId)
    const mended = tree.ensureHome(subscriptionId)
    return wasMissing && isOld ? [`the user of subscription ${subscriptionId}`, ...mended] : mended
  }

  /** Once for all sites that ask at the same time. */
  function ensureHome(subscriptionId: number): Promise<string[]> {
    const made = making.get(subscriptionId) ?? makeHome(subscriptionId).finally(() => making.delete(subscriptionId))
    making.set(subscriptionId, made)
    return made
  }

  function targetOf(subscriptionId: number, { id, release, publicDir }: DesiredSite): Target {
    const site = siteOf(layout, subscriptionId, id)
    if (release === null) return { ok: true, root: waitingRoot(layout), documentRoot: site }
    const directory = tree.releaseOf(subscriptionId, id, release)
    if (!isDirectory(directory)) {
      return failed('release_missing', `Release ${release} is not on the server; deploy again`)
    }
    const within = publicDir ?? (isDirectory(join(directory, DEFAULT_PUBLIC)) ? DEFAULT_PUBLIC : '.')
    const root = join(directory, within)
    if (!isDirectory(root)) {
      const message = `Release ${release} has no directory ${within}: change public_dir, or deploy it`
      return failed('public_dir_missing', message)
    }
    return { ok: true, root: root.replace(layout.sites, view), documentRoot: join(site, 'current', within) }
  }

  function generationOf(site: DesiredSite, state: Generation['state'], target: Target): Generation {
    const subject = { siteId: site.id, number: site.generation, state }
    if (state !== 'serving') return { ...subject, links: { [AWAY_PAGE]: pageOf(layout, state) } }
    const root = target.ok ? target.root : ''
    return { ...subject, links: site.release === null ? { pub: root } : linksTo(root, site) }
  }

  /** Undefined for a site without a health path. PHP runs before it is asked. */
  function checkHealth(subscription: DesiredSubscription, site: DesiredSite): CheckHealth | undefined {
    const { healthPath: path = null, names } = site
    if (path === null) return undefined
    return async (number, signal) => {
      const target = targetOf(subscription.id, { ...site, release: number })
      if (!target.ok) return target.failure.message
      const failure = await php.serve(subscription, site)
      if (failure) return failure.message
      return health.check({ domain: names[0] ?? '', path, links: linksTo(target.root, site) }, signal)
    }
  }

  /** What was left behind can wait: the site is served. */
  async function tidy(subscriptionId: number, site: DesiredSite, generation: string): Promise<void> {
    try {
      for (const name of known.get(site.id) ?? []) if (name !== generation) generations.remove(name)
      known.set(site.id, new Set([generation]))
      await files.keepReleases({ subscriptionId, siteId: site.id }, numbersToKeep(site))
    } catch (err) {
      log.warn({ err, site_id: site.id }, 'what a site no longer needs was not removed')
    }
  }

  async function serve(subscription: DesiredSubscription, site: DesiredSite): Promise<Observed> {
    const mendedHome = await ensureHome(subscription.id)
    const mendedSite = tree.ensureSite(subscription.id, site.id)
    const state = stateOf(subscription, site)
    releases.want(subscription.id, site, state === 'serving' ? checkHealth(subscription, site) : undefined)
    const target = targetOf(subscription.id, site)
    // One that is not to be served needs nothing to serve; another goes on with what was served before.
    if (!target.ok && state === 'serving') return { state: 'failed', failure: target.failure }
    // Before a visitor can be led to it, and after none can.
    const failure = state === 'serving' ? await php.serve(subscription, site) : undefined
    const generation = generationOf(site, state, target)
    const name = nameOf(generation)
    const mendedGeneration = generations.ensure(generation)
    known.set(site.id, (known.get(site.id) ?? new Set()).add(name))
    const mendedNames = names.lead(site.id, name, site.names)
    if (site.release !== null && target.ok) tree.pointCurrent(subscription.id, site.id, site.release)
    if (state !== 'serving') await php.serve(subscription, site)
    const seen = await prove(site.names[0] ?? '')
    if (seen !== name) throw new Error(`${site.names[0]} is served as ${JSON.stringify(seen)}, not as ${name}`)
    certificates.want(site)
    await tidy(subscription.id, site, name)
    const repaired = [...mendedHome, ...mendedSite, ...mendedGeneration, ...mendedNames]
    if (repaired.length > 0) log.warn({ site_id: site.id, repaired }, 'what someone else had changed was put right')
    // Its files are served.
    if (failure) return { state: 'failed', failure }
    const documentRoot = target.ok ? target.documentRoot : siteOf(layout, subscription.id, site.id)
    return { state, documentRoot, ...(repaired.length > 0 && { repaired }) }
  }

  return {
    ensureSubscription: async (subscription) => sshKeys.ensure(subscription),

    async serve(subscription, site) {
      const field = wrongField(subscription, site) ?? (site.tls && wrongTlsField(site.tls, site))
      if (field === undefined) return serve(subscription, site)
      log.error({ site_id: site.id, field }, 'the panel wants what no panel should; nothing was changed')
      return failed(
        'state_invalid',
        'The server refuses what the panel wants of this site; its operator finds why in its log',
      )
    },

    async remove(subscriptionId, siteId) {
      requireIds(subscriptionId, siteId)
      names.forget(siteId)
      await php.removeSite(siteId)
      await releases.cut(siteId)
      // Keys do not go to the trash.
      await certificates.remove(siteId)
      for (const name of known.get(siteId) ?? []) generations.remove(name)
      known.delete(siteId)
      trash.discard(subscriptionId, siteId, clock.now())
      await siteLogs.remove({ subscriptionId, siteId })
    },

    async removeSubscription(subscriptionId) {
      requireIds(subscriptionId)
      sshKeys.remove(subscriptionId)
      await php.removeSubscription(subscriptionId)
      await users.remove(subscriptionId)
      const home = homeOf(layout, subscriptionId)
      // Files of sites that the panel does not name are kept.
      for (const path of [join(home, 'sites'), home])
        if (isDirectory(path) && namesIn(path).length === 0) rmdirSync(path)
    },

    async servedSites() {
      scan()
      return names.sites()
    },

    async stopServing(siteId) {
      names.forget(siteId)
      await php.removeSite(siteId)
      await certificates.unload(siteId)
      for (const name of known.get(siteId) ?? []) generations.remove(name)
      known.delete(siteId)
    },

    sitesWithFiles: async () => tree.sites().map(({ siteId }) => siteId),
    async stop() {
      await releases.stop()
      await certificates.stop()
    },
  }
}

const linksTo = (root: string, { kind, spa }: DesiredSite): Record<string, string> => ({
  pub: root,
  ...(kind === 'php' && { php: root }),
  ...(spa && { spa: root }),
})

const failed = (code: string, message: string): { ok: false; state: 'failed'; failure: Failure } => ({
  ok: false,
  state: 'failed',
  failure: { code, message, retryable: false, retryAt: null },
})
