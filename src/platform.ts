/** What every feature builds on: the resources of a process, opened once. None of them knows a feature. */
import { existsSync, mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { version } from '../package.json' with { type: 'json' }
import { backupDirectory, listBackups } from './backup/catalogue.ts'
import { runBackup } from './backup/run.ts'
import { createBackupSchedule } from './backup/schedule.ts'
import type { Config } from './config/schema.ts'
import type { Clock } from './core/clock.ts'
import { watchClock } from './core/clock-watch.ts'
import { closeAll } from './core/close-all.ts'
import type { Argon2Costs } from './crypto/argon2.ts'
import { createPasswords } from './crypto/passwords.ts'
import { loadSecret } from './crypto/secret.ts'
import { createSecretBox } from './crypto/secret-box.ts'
import { dataPaths, privateNames } from './data-directory.ts'
import { createCommitSignal } from './db/commit-signal.ts'
import { probe } from './db/probe.ts'
import { openStore } from './db/sqlite/store.ts'
import { users } from './db/tables.ts'
import { createAccessTokens } from './http/access-token.ts'
import { createIdempotency } from './http/idempotency/kept-answers.ts'
import { createOutbound } from './http/outbound.ts'
import { createPageCache } from './http/page-cache.ts'
import { parseRanges } from './limiter/address.ts'
import { createClientAddress } from './limiter/client-address.ts'
import { createLimiter } from './limiter/limiter.ts'
import { createPolicies } from './limiter/policies.ts'
import type { RequestLog } from './log/log.ts'
import { sparing } from './log/sparing.ts'
import { configuredMailer } from './mail/mailer.ts'
import { createOutbox } from './mail/outbox.ts'
import { createFindWording } from './mail/wording.ts'
import { createRequestCounters } from './metrics/requests.ts'
import type { Module } from './module.ts'
import { createEpoch } from './node/epoch.ts'
import { createStoredSettings, readSettings } from './settings/stored.ts'
import { requireOwnDirectory, requireOwnKey } from './system/private-file.ts'
import { uses } from './system/workarounds.ts'
import { BACKUP_THREAD, DISK_THREAD } from './threads.ts'
import type { Certificate } from './tls/pem.ts'

export type Platform = Awaited<ReturnType<typeof openPlatform>>['services']

/** What tells the panel itself, the only one on its data directory, from a command beside it. */
export type PanelProcess = {
  /** The disk does not keep what is written: the process has to end, and closes nothing. */
  onLostDisk(): void
}

export type PlatformOptions = {
  config: Config
  clock: Clock
  log: RequestLog
  /** Undefined for a command. */
  panelProcess?: PanelProcess
  /** Of a new password's hash: OWASP's unless stated. Tests make thousands. */
  passwordCosts?: Argon2Costs
  network?: Network
}

/** The Internet as tests have it: with a resolver, a port for HTTP and an authority of their own. */
export type Network = {
  /** Addresses with their ports. */
  dnsServers?: readonly string[]
  httpPort?: number
  /** PEM: what the certificate of the authority's own server leads to. */
  authorityCertificate?: string
}

/** Logins that may wait for their hash; at 15 to 50 ms each and two cores the last waits a second or a few. */
const QUEUED_HASHES = 128
const CLOCK_MS = 10_000

/** @throws Error when the data directory, the database or a secret cannot be used */
export async function openPlatform(options: PlatformOptions) {
  const { config, clock, log, panelProcess, passwordCosts, network = {} } = options
  const storageLog = sparing(log, clock)
  const paths = dataPaths(config.data)
  openDirectory(config.data)
  // Closed again if a later step throws: its lock keeps every other panel out of the directory.
  await using opened = new AsyncDisposableStack()
  const store = openStore(paths.database, clock.now(), {
    isNew: !existsSync(paths.totpKey),
    isPanel: panelProcess !== undefined,
    mapsIndex: uses(config, 'wal-index'),
    ...(uses(config, 'disk-thread') && { diskThread: DISK_THREAD }),
    log: storageLog,
    ...(panelProcess && { onLost: panelProcess.onLostDisk }),
  })
  opened.defer(store.close)

  // Not a count, which takes longer with each user.
  const hasUsers = async () => (await store.read.select({ id: users.id }).from(users).limit(1)).length > 0
  // A secret is made with a new installation only: see `loadSecret`.
  const isNew = !(await hasUsers())
  const tokens = createAccessTokens({ secret: loadSecret(paths.jwtKey, { create: isNew }), clock })
  const secretBox = createSecretBox(loadSecret(paths.totpKey, { create: isNew }))

  const { isSteady, deletableBefore } = watchClock(clock, (byMs) =>
    log.warn(
      { bySeconds: Math.round(byMs / 1000) },
      'the clock was changed; nothing that seems to have expired is deleted for a day',
    ),
  )
  const commits = createCommitSignal(store)
  const storedSettings = createStoredSettings(store)
  const defaultName = config.publicUrl === undefined ? 'ncp' : new URL(config.publicUrl).hostname
  const panelName = async () => (await readSettings(store.read)).panelName ?? defaultName
  const mailer = configuredMailer(config, panelName)
  const outbox = createOutbox({ store, clock, deletableBefore, log: storageLog, secretBox, mailer })
  const givesWay = uses(config, 'thread-priority')
  const backups = createBackupSchedule({
    clock,
    log,
    readSettings: storedSettings.read,
    madeAt: () => listBackups(backupDirectory(config)).map(({ createdAt }) => createdAt),
    make: (keep) =>
      runBackup(BACKUP_THREAD, {
        data: config.data,
        directory: backupDirectory(config),
        nowMs: clock.now(),
        version,
        keep,
        givesWay,
      }),
  })

  let isReady = false
  let certificate: Certificate | undefined

  const platform = {
    services: {
      config,
      clock,
      /** Whether the clock can be believed by what deletes for good. */
      isClockSteady: isSteady,
      deletableBefore,
      log,
      storageLog,
      /** Of everything in the data directory. */
      paths,
      store,
      /** Wakes what waits for a change of the database. */
      commits,
      /** Nodes tell a restored database from the one that they knew by it. */
      epoch: createEpoch(paths.nodeEpoch),
      hasUsers,
      probe: () => probe(store),
      storedSettings,
      // One more than there are cores: it is there to be computed while the event loop sees to the one that is done.
      passwords: createPasswords(
        { concurrent: availableParallelism() + 1, queued: QUEUED_HASHES },
        { isNative: uses(config, 'native-argon2'), givesWay },
        passwordCosts,
      ),
      tokens,
      secretBox,
      /** What the panel is called in emails and authenticator apps. */
      panelName,
      outbox,
      findWording: createFindWording(readSettings),
      /** Whether a mail server is configured. */
      sendsMail: mailer !== undefined,
      backups,
      limiter: createLimiter({ clock }),
      policies: createPolicies(config),
      clientAddress: createClientAddress(parseRanges(config.trustedProxies), log),
      idempotency: createIdempotency({ store, clock, deletableBefore, secretBox }),
      pages: createPageCache(),
      network,
      /** For every request whose target a customer chooses. */
      outbound: createOutbound({ allow: config.outboundAllow, dnsServers: network.dnsServers }),
      requests: createRequestCounters(),
      /** The certificate that is served; undefined over plain HTTP. */
      certificate: {
        get: () => certificate,
        set(served: Certificate | undefined) {
          certificate = served
        },
      },
      readiness: {
        is: () => isReady,
        set(ready: boolean) {
          isReady = ready
        },
      },
    },
    tasks: [
      { everyMs: CLOCK_MS, run: async () => isSteady(), log, failure: 'the clock was not checked' },
      {
        everyMs: commits.pollMs,
        run: commits.poll,
        log: storageLog,
        failure: 'commits of other processes could not be polled',
      },
    ],
    /** Lets emails under way finish for a moment, and closes the database. */
    close: () => closeAll([commits.stop, backups.stop, outbox.stop, store.close]),
  } satisfies Module
  // Nothing failed: from here on the platform's own `close` closes it.
  opened.move()
  return platform
}

/** Makes the data directory where there is none. @throws Error when it or a secret in it is open to other users of the machine */
function openDirectory(directory: string): void {
  // One that is there already may serve others too, and keeps its mode; the files in it are for their owner alone.
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  requireOwnDirectory(directory)
  for (const name of privateNames) requireOwnKey(join(directory, name))
}
