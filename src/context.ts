/** The composition root: opens every resource and wires every service, once. */
import { mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Config } from './config/schema.ts'
import type { Clock } from './core/clock.ts'
import type { RequestLog } from './core/log.ts'
import { createPasswords } from './crypto/passwords.ts'
import { loadSecret } from './crypto/secret.ts'
import { createSecretBox } from './crypto/secret-box.ts'
import { openStore } from './db/store.ts'
import { createApiKeys } from './features/api-keys/api-keys.ts'
import { createCredentials } from './features/auth/credentials.ts'
import { createLogin } from './features/auth/login.ts'
import { createNotify } from './features/auth/notices.ts'
import { createPasswordService } from './features/auth/password.ts'
import { createPasswordReset } from './features/auth/password-reset.ts'
import { createSessions, endSessions } from './features/auth/sessions.ts'
import { createThrottle } from './features/auth/throttle.ts'
import { createTwoFactor } from './features/auth/two-factor.ts'
import { createUsage } from './features/auth/usage.ts'
import { createSettings } from './features/settings/settings.ts'
import { createSites } from './features/sites/sites.ts'
import { createSubscriptions } from './features/subscriptions/subscriptions.ts'
import { createInitialAdmin } from './features/users/initial-admin.ts'
import { createUsers } from './features/users/users.ts'
import { createAccessTokens } from './http/access-token.ts'
import { createPageCache } from './http/page-cache.ts'
import { createClientAddress, parseRanges } from './limiter/address.ts'
import { createLimiter } from './limiter/limiter.ts'
import { createPolicies } from './limiter/policies.ts'
import { createMailer, type Mailer } from './mail/mailer.ts'
import { createOutbox } from './mail/outbox.ts'

export type Context = Awaited<ReturnType<typeof createContext>>

/** Logins that may wait for their hash; at about 50 ms each and two cores the last waits a few seconds. */
const QUEUED_HASHES = 128
const USAGE_FLUSH_MS = 5000
const RESET_FLUSH_MS = 1000

/**
 * @throws Error when the data directory, the database or a secret can't be used
 */
export async function createContext({ config, clock, log }: { config: Config; clock: Clock; log: RequestLog }) {
  // One that is there already may serve others too, and keeps its mode; the files in it are for their owner alone.
  mkdirSync(config.data, { recursive: true, mode: 0o700 })
  const inData = (name: string) => join(config.data, name)

  const store = openStore(inData('ncp.db'), clock.now())
  const passwords = createPasswords({ concurrent: availableParallelism(), queued: QUEUED_HASHES })
  const users = createUsers({ store, clock, endSessions })
  const initialAdmin = createInitialAdmin({
    email: config.adminEmail,
    path: inData('initial-admin-password'),
    countUsers: users.count,
    hash: passwords.hash,
    createAdministrator: (email, hash) => users.create({ email, name: 'Administrator', role: 'admin' }, hash),
  })

  // A secret is made with a new installation only: see `loadSecret`.
  const isNew = (await users.count()) === 0
  const tokens = createAccessTokens({ secret: loadSecret(inData('jwt.key'), { create: isNew }), clock })
  const secretBox = createSecretBox(loadSecret(inData('totp.key'), { create: isNew }))

  const outbox = createOutbox({ store, clock, log, secretBox, mailer: mailerOf(config) })
  const notify = createNotify({ clock, putMail: outbox.put })

  const settings = createSettings({ store, clock })
  const usage = createUsage({ store, clock })
  const credentials = createCredentials({ store, clock, verifyToken: tokens.verify, record: usage.record })
  const sessions = createSessions({ store, clock, flushUsage: usage.flush })
  const throttle = createThrottle({ store, clock })
  const password = createPasswordService({ store, clock, passwords, throttle, notify, onChange: initialAdmin.forget })
  const twoFactor = createTwoFactor({ store, clock, secretBox, notify, confirmPassword: password.confirm })
  const login = createLogin({
    store,
    clock,
    passwords,
    throttle,
    ttlSeconds: async () => (await settings.read()).jwtTtlSeconds,
    spendCode: twoFactor.spendCode,
    notify,
  })
  const passwordReset = createPasswordReset({
    store,
    clock,
    log,
    putMail: outbox.put,
    // There may be none where there is no mail server, and then no mail either.
    publicUrl: config.publicUrl ?? '',
  })
  const apiKeys = createApiKeys({ store, clock, flushUsage: usage.flush, notify })
  const subscriptions = createSubscriptions({ store, clock })
  const sites = createSites({
    store,
    clock,
    findSubscription: subscriptions.findOwn,
    findDefaultSubscription: subscriptions.findDefault,
  })

  let isReady = false
  const flushing = setInterval(
    () => usage.flush().catch((err) => log.error({ err }, 'usage not written')),
    USAGE_FLUSH_MS,
  )
  flushing.unref()
  const resetting = setInterval(passwordReset.flush, RESET_FLUSH_MS)
  resetting.unref()

  return {
    config,
    clock,
    log,
    limiter: createLimiter({ clock }),
    policies: createPolicies({
      login: config.limitLogin,
      passwordReset: config.limitPasswordReset,
      user: config.limitUser,
      anonymous: config.limitAnonymous,
      probe: config.limitProbe,
    }),
    clientAddress: createClientAddress(parseRanges(config.trustedProxies)),
    passwords,
    tokens,
    credentials,
    login,
    sessions,
    password,
    passwordReset,
    twoFactor,
    throttle,
    users,
    initialAdmin,
    outbox,
    settings,
    apiKeys,
    subscriptions,
    sites,
    pages: createPageCache(store),
    readiness: {
      is: () => isReady,
      set(ready: boolean) {
        isReady = ready
      },
    },

    /** Lets mails under way finish for a moment, writes what is still in memory and closes the database. */
    async close(): Promise<void> {
      clearInterval(flushing)
      clearInterval(resetting)
      await passwordReset.flush()
      await outbox.stop()
      await usage.flush()
      store.close()
    },
  }
}

function mailerOf({ mailServer, mailFrom, publicUrl }: Config): Mailer | undefined {
  if (!mailServer || mailFrom === undefined || publicUrl === undefined) return undefined
  return createMailer({ server: mailServer, from: mailFrom, signature: `ncp, ${publicUrl}` })
}
