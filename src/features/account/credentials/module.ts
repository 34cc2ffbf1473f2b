/** Credentials: the principal behind a bearer value, at the gate and again in each transaction. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import { isTwoFactorRequired } from '../../../settings/stored.ts'
import { createCredentials } from './credentials.ts'
import { createUsage } from './usage.ts'
import { createWriteAs } from './write-as.ts'

export function credentialsModule({ store, clock, storedSettings, tokens, storageLog }: Platform) {
  const usage = createUsage({ store, clock, log: storageLog })
  const credentials = createCredentials({
    store,
    clock,
    verifyToken: tokens.verify,
    isTwoFactorRequired: storedSettings.isTwoFactorRequired,
    allowsSelfRotation: storedSettings.allowsSelfRotation,
    record: usage.record,
  })

  return {
    services: { credentials, usage, ...createWriteAs({ store, clock, isTwoFactorRequired }) },
    tasks: [
      { everyMs: 30_000, run: usage.flush, log: storageLog, failure: 'the last use of credentials was not written' },
    ],
    close: usage.flush,
  } satisfies Module
}
