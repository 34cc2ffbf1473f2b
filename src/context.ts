/** The composition root: opens every resource and wires every service, once. */
import { availableParallelism } from 'node:os'
import { version } from '../package.json' with { type: 'json' }
import { backupDirectory, listBackups } from './backup/catalogue.ts'
import { runBackup } from './backup/run.ts'
import { createBackupSchedule } from './backup/schedule.ts'
import type { Config } from './config/schema.ts'
import { panel } from './core/actor.ts'
import type { Clock } from './core/clock.ts'
import { watchClock } from './core/clock-watch.ts'
import { closeAll } from './core/close-all.ts'
import { createPasswords } from './crypto/passwords.ts'
import { loadSecret } from './crypto/secret.ts'
import { createSecretBox } from './crypto/secret-box.ts'
import { hasOurSchema, probe } from './db/probe.ts'
import { users as userTable } from './db/tables.ts'
import { createApiKeys } from './features/account/api-keys/api-keys.ts'
import { createExpiryNotices } from './features/account/api-keys/expiry-notices.ts'
import { createRotateSelf } from './features/account/api-keys/self-rotation.ts'
import { createCredentials } from './features/account/credentials/credentials.ts'
import { createUsage } from './features/account/credentials/usage.ts'
import { createWriteAs } from './features/account/credentials/write-as.ts'
import { createNotify } from './features/account/notices.ts'
import { createAuthServices } from './features/account/services.ts'
import { createSessions, endSessions } from './features/account/session/sessions.ts'
import { createIssueActivation } from './features/account/users/activation.ts'
import { createInitialAdmin } from './features/account/users/initial-admin.ts'
import { createUsers, requireManageable } from './features/account/users/users.ts'
import { createSites } from './features/hosting/sites/sites.ts'
import { subscriptionScope } from './features/hosting/subscriptions/scope.ts'
import { createSubscriptions } from './features/hosting/subscriptions/subscriptions.ts'
import { createAudit } from './features/operation/audit/audit.ts'
import { createIncidents } from './features/operation/audit/incidents.ts'
import { createRetention } from './features/operation/audit/retention.ts'
import { createAuditSums } from './features/operation/audit/sums.ts'
import { createHealth } from './features/operation/health/health.ts'
import {
  createSettings,
  isCodeRequired,
  isSelfRotationAllowed,
  isTwoFactorRequired,
  readSettings,
} from './features/operation/settings/settings.ts'
import { createAccessTokens } from './http/access-token.ts'
import { createIdempotency } from './http/idempotency/kept-answers.ts'
import { createPageCache } from './http/page-cache.ts'
import { startTasks } from './jobs/task.ts'
import { openData, type PanelProcess } from './lifecycle/open-data.ts'
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
import { BACKUP_THREAD } from './threads.ts'
import type { Certificate } from './tls/pem.ts'

export type Context = Awaited<ReturnType<typeof createContext>>

/** Logins that may wait for their hash; at 15 to 50 ms each and two cores the last waits a second or a few. */
const QUEUED_HASHES = 128
const USAGE_FLUSH_MS = 30_000
const RESET_FLUSH_MS = 1000
const THROTTLE_FLUSH_MS = 1000
const CLOCK_MS = 10_000
const INCIDENT_FLUSH_MS = 5000
const RETENTION_MS = 60 * 60 * 1000
const EXPIRY_NOTICE_MS = 10 * 60 * 1000

export type ContextOptions = { config: Config; clock: Clock; log: RequestLog; panelProcess?: PanelProcess }

/**
 * @throws Error when the data directory, the database or a secret can't be used
 */
export async function createContext({ config, clock, log, panelProcess }: ContextOptions) {
  const storageLog = sparing(log, clock)
  const { store, inData } = openData({
    directory: config.data,
    nowMs: clock.now(),
    log: storageLog,
    panel: panelProcess,
  })
  // One more than there are cores: it is there to be computed while the event loop sees to the one that is done.
  const passwords = createPasswords({ concurrent: availableParallelism() + 1, queued: QUEUED_HASHES })

  // Not a count, which takes longer with each user.
  const hasUsers = async () => (await store.read.select({ id: userTable.id }).from(userTable).limit(1)).length > 0
  // A secret is made with a new installation only: see `loadSecret`.
  const isNew = !(await hasUsers())
  const tokens = createAccessTokens({ secret: loadSecret(inData('jwt.key'), { create: isNew }), clock })
  const secretBox = createSecretBox(loadSecret(inData('totp.key'), { create: isNew }))

  const defaultName = config.publicUrl === undefined ? 'ncp' : new URL(config.publicUrl).hostname
  const panelName = async () => (await readSettings(store.read)).panelName ?? defaultName
  const findWording = createFindWording(readSettings)
  const mailer = configuredMailer(config, panelName)
  const { isSteady, deletableBefore } = watchClock(clock, (byMs) =>
    log.warn({ bySeconds: Math.round(byMs / 1000) }, 'the clock was set: nothing old is deleted for a day'),
  )
  const outbox = createOutbox({ store, clock, deletableBefore, log: storageLog, secretBox, mailer })
  const putMail = outbox.put
  const notify = createNotify({ clock, putMail, findWording })

  const auditLog = createAudit({ store, clock })
  const audit = auditLog.record
  const { writeAs, writeSoonAs } = createWriteAs({ store, clock, isTwoFactorRequired })
  /** What nearly every service works with. */
  const essentials = { store, clock, audit, writeAs }
  const incidents = createIncidents({ store, clock, record: audit })
  const auditSums = createAuditSums({ store, clock, append: auditLog.append })
  const settings = createSettings(essentials)
  const retention = createRetention({
    store,
    clock,
    record: audit,
    days: async () => (await settings.read()).auditRetentionDays,
  })

  const issueActivation = createIssueActivation({ clock, putMail, findWording, publicUrl: config.publicUrl })
  const users = createUsers({ ...essentials, endSessions, issueActivation })
  const initialAdmin = createInitialAdmin({
    email: config.adminEmail,
    path: inData('initial-admin-password'),
    hasUsers,
    hash: passwords.hash,
    createAdministrator: (email, hash) => users.create(panel, { email, name: 'Administrator', role: 'admin' }, hash),
  })

  const usage = createUsage({ store, clock, log: storageLog })
  const credentials = createCredentials({
    store,
    clock,
    verifyToken: tokens.verify,
    isTwoFactorRequired: settings.isTwoFactorRequired,
    isSelfRotationAllowed: async () => (await settings.read()).apiKeySelfRotation,
    record: usage.record,
  })
  const sessions = createSessions({ ...essentials, flushUsage: usage.settle })
  const auth = createAuthServices({
    ...essentials,
    writeSoonAs,
    deletableBefore,
    isTwoFactorRequired,
    isCodeRequired,
    log: storageLog,
    incidents,
    passwords,
    secretBox,
    settings,
    notify,
    outbox,
    findWording,
    panelName,
    sendsMail: mailer !== undefined,
    publicUrl: config.publicUrl,
    onPasswordChange: initialAdmin.forget,
    requireManageable,
  })
  const { passwordReset, throttle } = auth
  const subscriptions = createSubscriptions({ ...essentials, notify })
  const apiKeys = createApiKeys({
    ...essentials,
    flushUsage: usage.settle,
    notify,
    withFreshCode: auth.secondFactor.withFreshCode,
    findSubscription: subscriptionScope.findOwn,
    maxKeys: async (tx) => (await readSettings(tx)).maxApiKeys,
    isSelfRotationAllowed,
    requireManageable,
  })
  const rotateSelf = createRotateSelf({ ...essentials, notify, isAllowed: isSelfRotationAllowed })
  const expiryNotices = createExpiryNotices({ store, clock, notify })
  const sites = createSites({
    ...essentials,
    scope: subscriptionScope,
  })

  const backups = createBackupSchedule({
    clock,
    log,
    readSettings: settings.read,
    madeAt: () => listBackups(backupDirectory(config)).map(({ createdAt }) => createdAt),
    make: (keep) =>
      runBackup(BACKUP_THREAD, {
        data: config.data,
        directory: backupDirectory(config),
        nowMs: clock.now(),
        version,
        keep,
      }),
  })

  let isReady = false
  let certificate: Certificate | undefined
  const pruneAudit = async (stopping: AbortSignal) => (isSteady() ? retention.prune(stopping) : undefined)
  const stopTasks = startTasks([
    { everyMs: USAGE_FLUSH_MS, run: usage.flush, log: storageLog, failure: 'usage not written' },
    { everyMs: RESET_FLUSH_MS, run: passwordReset.flush, log: storageLog, failure: 'password resets not written' },
    {
      everyMs: THROTTLE_FLUSH_MS,
      run: throttle.flush,
      log: storageLog,
      failure: 'users not told of many failed attempts',
    },
    { everyMs: CLOCK_MS, run: async () => isSteady(), log, failure: 'the clock was not looked at' },
    { everyMs: INCIDENT_FLUSH_MS, run: auditSums.flush, log: storageLog, failure: 'sums of the audit log not written' },
    {
      everyMs: INCIDENT_FLUSH_MS,
      run: () => incidents.flush(),
      log: storageLog,
      failure: 'failures and refusals not written to the audit log',
    },
    { everyMs: RETENTION_MS, run: pruneAudit, log, failure: 'old audit entries not deleted' },
    { everyMs: EXPIRY_NOTICE_MS, run: expiryNotices.send, log, failure: 'users not told of API keys that expire' },
  ])

  return {
    config,
    clock,
    log,
    storageLog,
    store,
    limiter: createLimiter({ clock }),
    policies: createPolicies(config),
    clientAddress: createClientAddress(parseRanges(config.trustedProxies), log),
    passwords,
    tokens,
    credentials,
    ...auth,
    sessions,
    users,
    initialAdmin,
    outbox,
    settings,
    audit: auditLog,
    incidents,
    retention,
    usage,
    auditSums,
    apiKeys,
    rotateSelf,
    expiryNotices,
    subscriptions,
    sites,
    idempotency: createIdempotency({ store, clock, deletableBefore, secretBox }),
    pages: createPageCache(store),
    backups,
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

    probe: () => probe(store),
    health: createHealth({
      clock,
      directory: config.data,
      isServing: () => isReady,
      probe: () => probe(store),
      storeTrouble: store.trouble,
      hasOurSchema: () => hasOurSchema(store),
      certificateExpiresAt: () => certificate?.expiresAt,
      mailsWaitSince: outbox.waitingSince,
    }),

    /**
     * Lets mails under way finish for a moment, writes what is still in memory and closes the database.
     *
     * @throws what of that could not be written; the database is closed
     */
    async close(): Promise<void> {
      await closeAll([
        stopTasks,
        backups.stop,
        passwordReset.flush,
        throttle.flush,
        outbox.stop,
        usage.flush,
        () => incidents.flush({ everything: true }),
        store.close,
      ])
    },
  }
}
