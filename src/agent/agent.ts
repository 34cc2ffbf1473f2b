/** The agent of a node: pulls what is wanted from the panel, makes it so with our own nginx, and reports what it sees. */
import { lstatSync, mkdirSync } from 'node:fs'
import type { Clock } from '../core/clock.ts'
import { closeAll } from '../core/close-all.ts'
import { startTasks } from '../jobs/task.ts'
import type { Log } from '../log/log.ts'
import { createCertificateKeys } from '../node/certificate-keys.ts'
import type { ArchiveSource, NodeLink } from '../node/protocol.ts'
import { createProveCertificate } from '../node/prove-certificate.ts'
import { createReconciler, FULL_PASS_MS } from '../node/reconcile.ts'
import { createReleases } from '../node/releases.ts'
import { createSiteCertificates } from '../node/site-certificates.ts'
import { lockDirectory } from '../system/directory-lock.ts'
import { createAccounts } from './accounts.ts'
import { wrongField } from './checks.ts'
import { download } from './download.ts'
import { createNginxDriver } from './driver.ts'
import { createGenerations } from './generations.ts'
import { createHealth } from './health.ts'
import { type NodeLayout, WEB_USER } from './layout.ts'
import { createMemory } from './memory.ts'
import { createNames } from './names.ts'
import { ensureNodeTree } from './node-tree.ts'
import { createPhp, PHP_LOOK_MS } from './php/php.ts'
import { createProve } from './prove.ts'
import { createReleaseFiles } from './release-files.ts'
import { createSshKeys } from './ssh-keys.ts'
import { createCertificateFiles } from './tls/certificate-files.ts'
import { createChallengeFiles } from './tls/challenges.ts'
import { startSiteLogs } from './traffic/site-logs.ts'
import { createTrash, TRASH_MS } from './trash.ts'
import { createTree } from './tree.ts'
import { unpackAsUser } from './unpack.ts'
import { createUsers } from './users.ts'
import { viewOf } from './view.ts'
import { BLUR_MS, createNameHistory } from './web/name-history.ts'
import { startWebServer } from './web-server.ts'

export type AgentOptions = {
  layout: NodeLayout
  link: NodeLink & ArchiveSource
  clock: Clock
  log: Log
}

export type Agent = Awaited<ReturnType<typeof startAgent>>

const HOUR_MS = 60 * 60 * 1000
/** systemd makes it, and only then supervises what our units start. */
const SYSTEMD = '/run/systemd/system'
const PRIVATE = 0o700

/** @throws Error on a machine that `ncp node setup` has not prepared, or on which an agent runs already */
export async function startAgent({ layout, link, clock, log }: AgentOptions) {
  const accounts = createAccounts()
  const web = accounts.users.named(WEB_USER)
  if (!web) throw new Error(`there is no user ${WEB_USER}: run 'ncp node setup' first`)
  const unlock = lockNode(layout)

  const history = createNameHistory({ startedAt: clock.now(), blurMs: BLUR_MS })
  ensureNodeTree(layout, web, log)
  const webServer = lstatSync(SYSTEMD, { throwIfNoEntry: false })
    ? undefined
    : await startWebServer(layout, web.id, log)
  const tree = createTree(layout, web.id)
  const users = createUsers({ layout, accounts })
  const trash = createTrash(layout)
  const files = createReleaseFiles(tree, (wanted, signal) => download(link, wanted, layout.agent, signal))
  const releases = createReleases({
    files,
    link,
    // What the panel answered is on its disk.
    durable: () => undefined,
    log,
    unpack: (archive, release, { subscriptionId, limits }, signal) =>
      unpackAsUser({ subscriptionId, archive, release, limits, signal }),
  })
  const php = await createPhp({
    layout,
    webGid: web.gid,
    isRight: (subscription, site) => wrongField(subscription, site) === undefined,
    clock,
    log,
  })
  const certificates = createSiteCertificates({
    link,
    challenges: createChallengeFiles(layout, web.gid),
    keys: createCertificateKeys(layout.certificateKeys),
    secure: {
      show: createCertificateFiles(layout, web.gid).show,
      prove: createProveCertificate({ host: '127.0.0.1', port: 443 }),
    },
    durable: () => undefined,
    log,
  })
  const health = createHealth(layout, web.gid)
  health.forget()
  const names = createNames({ layout, history, clock })
  // Before any request is looked for in the history of names.
  names.scan()
  const siteLogs = startSiteLogs({ layout, sites: tree.sites, history, link, clock, log })
  const driver = createNginxDriver({
    layout,
    view: viewOf(layout),
    users,
    tree,
    generations: createGenerations(layout, web.gid),
    names,
    releases,
    files,
    trash,
    certificates,
    prove: createProve(layout),
    health,
    php,
    sshKeys: createSshKeys(layout),
    siteLogs,
    clock,
    log,
  })
  const reconciler = createReconciler({
    link: {
      ...link,
      async changesAfter(revision) {
        const changes = await link.changesAfter(revision)
        siteLogs.take(changes)
        return changes
      },
    },
    driver,
    guard: createMemory(layout),
    durable: () => undefined,
    log,
  })

  /** Everything, as it is on disk and as the panel wants it. */
  const compareAll = async (): Promise<void> => {
    ensureNodeTree(layout, web, log)
    await php.versions()
    await reconciler.compareAll()
  }

  reconciler.start()

  const stopTasks = startTasks([
    {
      everyMs: FULL_PASS_MS,
      run: compareAll,
      log,
      failure: 'sites were not compared with what they are to be',
    },
    { everyMs: PHP_LOOK_MS, run: php.look, log, failure: 'PHP of customers was not looked after' },
    {
      everyMs: HOUR_MS,
      run: (stopping) => trash.empty(clock.now() - TRASH_MS, stopping),
      log,
      failure: 'sites that were deleted long ago were not removed from the trash',
    },
  ])
  return {
    /** Puts right what someone else has changed, and reports what was counted. */
    async compareAll() {
      await compareAll()
      await siteLogs.report().catch((err) => log.warn({ err }, 'requests to sites are counted later'))
    },
    /** Ends what is under way. Where nothing else supervises the web server, it ends too. */
    stop: () => closeAll([stopTasks, reconciler.stop, siteLogs.stop, php.stop, () => webServer?.stop(), unlock]),
  }
}

/** Two would take each other's work for someone else's changes. */
function lockNode({ agent }: NodeLayout): () => void {
  mkdirSync(agent, { recursive: true, mode: PRIVATE })
  const unlock = lockDirectory(agent)
  if (!unlock) throw new Error('another agent runs on this node already: stop it first')
  return unlock
}
