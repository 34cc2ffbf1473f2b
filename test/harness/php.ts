/** Customers' PHP on this machine: real masters of PHP-FPM in a directory of their own, for users without a name. */
import { afterAll, test } from 'bun:test'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { nodeLayout, siteOf, uidOf } from '../../src/agent/layout.ts'
import { createMasters, type MastersOptions } from '../../src/agent/php/masters.ts'
import { socketOf } from '../../src/agent/php/pool.ts'
import { installedVersions, type PhpVersion } from '../../src/agent/php/versions.ts'
import { endProcessesOf } from '../../src/agent/processes.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { PhpSettings, SitePhp } from '../../src/node/php.ts'
import type { DesiredSite, DesiredSubscription } from '../../src/node/protocol.ts'
import { createClientWatch } from '../../src/system/listening-socket.ts'
import { type FastCgiAnswer, fastCgi } from './fastcgi.ts'
import { createTestLog } from './log.ts'

const [newest] = await installedVersions()
const canRun = process.getuid?.() === 0 && newest !== undefined
if (!canRun) {
  const reason = 'tests of PHP need root, and php-fpm'
  if (Bun.env.CI) throw new Error(reason)
  process.stderr.write(`skipped: ${reason}\n`)
}

/** `test`, skipped where PHP-FPM cannot be run. */
export const phpTest = test.skipIf(!canRun)

/** The newest version here; never undefined in a `phpTest`. */
export const PHP: PhpVersion = newest ?? { version: '0.0', program: '', build: '' }

/** The group of the web server, for tests: one that no customer is in. */
const WEB_GID = 33
/** Far above what a real node has given to anybody. */
let lastSubscription = 700_000 + (process.pid % 50_000) * 20

export type PhpNode = ReturnType<typeof createPhpNode>

/** For the tests of a file, which end it. */
export function usePhpNode(options: Partial<MastersOptions> = {}): PhpNode {
  const node = createPhpNode(options)
  afterAll(node.close)
  return node
}

export function createPhpNode(options: Partial<MastersOptions> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'ncp-php-'))
  const layout = nodeLayout(root)
  const log = createTestLog()
  const users = new Set<number>()
  const changes: number[] = []
  for (const directory of [root, layout.sites, layout.run, layout.phpSockets, layout.phpSettings, layout.logs]) {
    mkdirSync(directory, { recursive: true })
    chmodSync(directory, 0o711)
  }
  for (let above = layout.run; above !== root; above = dirname(above)) chmodSync(above, 0o711)
  for (let above = layout.logs; above !== root; above = dirname(above)) chmodSync(above, 0o711)
  for (let above = layout.sites; above !== root; above = dirname(above)) chmodSync(above, 0o711)

  const opened: ReturnType<typeof createMasters>[] = []

  /** What an agent would start with; a second one is a second agent. */
  function open() {
    const masters = createMasters({
      layout,
      webGid: WEB_GID,
      watch: createClientWatch(),
      installed: (version) => (version === PHP.version ? PHP : undefined),
      supervisorOf: () => [],
      clock: systemClock,
      log,
      onChange: (id) => changes.push(id),
      idleMs: 60_000,
      ...options,
    })
    opened.push(masters)
    return masters
  }

  const node = {
    layout,
    log,
    /** Subscriptions whose PHP has failed, or was well again. */
    changes,
    open,
    masters: open(),

    subscription(): number {
      const id = ++lastSubscription
      users.add(uidOf(id))
      return id
    },

    /** Files of a site's release, below what is served. */
    write(subscriptionId: number, siteId: number, files: Record<string, string>, release = 1): void {
      const uid = uidOf(subscriptionId)
      const site = siteOf(layout, subscriptionId, siteId)
      const served = join(site, 'releases', `${release}`)
      for (const [directory, mode] of [
        [dirname(dirname(site)), 0o711],
        [dirname(site), 0o711],
        [site, 0o711],
        [dirname(served), 0o711],
      ] as const) {
        mkdirSync(directory, { recursive: true })
        chmodSync(directory, mode)
      }
      for (const own of ['tmp', 'sessions']) {
        mkdirSync(join(site, own), { recursive: true })
        chmodSync(join(site, own), 0o700)
        chownSync(join(site, own), uid, uid)
      }
      for (const [name, text] of Object.entries(files)) {
        const path = join(served, name)
        mkdirSync(dirname(path), { recursive: true })
        writeFileSync(path, text)
      }
      Bun.spawnSync(['chown', '-R', `${uid}:${uid}`, served])
    },

    /** As the web server would. */
    ask(
      subscriptionId: number,
      siteId: number,
      script: string,
      parameters: Record<string, string> = {},
      body = '',
    ): Promise<FastCgiAnswer> {
      const documentRoot = join(siteOf(layout, subscriptionId, siteId), 'releases', '1')
      return fastCgi(
        socketOf(layout, siteId),
        {
          DOCUMENT_ROOT: documentRoot,
          SCRIPT_FILENAME: `${documentRoot}/${script}`,
          SCRIPT_NAME: `/${script}`,
          ...parameters,
        },
        body,
      )
    },

    hasSocket: (siteId: number): boolean => existsSync(socketOf(layout, siteId)),

    async close(): Promise<void> {
      for (const masters of opened) masters.close()
      for (const uid of users) await endProcessesOf(uid)
      rmSync(root, { recursive: true })
    },
  }
  return node
}

/** What a site sets of PHP, as its node is told of it. */
export const sitePhp = (settings: PhpSettings, noPhpIn: string[] = []): SitePhp => ({
  settings: Object.entries(settings).map(([name, value]) => ({ name, value })),
  noPhpIn,
})

/** A subscription as its node is told of it. */
export function wanted(
  id: number,
  sites: (Partial<DesiredSite> & { id: number })[],
  rest: Partial<DesiredSubscription> = {},
): DesiredSubscription {
  return {
    id,
    state: 'active',
    ...rest,
    sites: sites.map((site) => ({
      generation: 1,
      state: 'serving',
      names: [`site${site.id}.test`],
      kind: 'php',
      phpVersion: PHP.version,
      spa: false,
      publicDir: null,
      release: 1,
      toUnpack: [],
      kept: [],
      ...site,
    })),
  }
}
