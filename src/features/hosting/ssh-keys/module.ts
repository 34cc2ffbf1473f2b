/** Keys for SFTP, of the people who work on the files of a subscription. */
import type { Module } from '../../../module.ts'
import type { Platform } from '../../../platform.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { sshKeyRoutes } from './routes.ts'
import { createSshKeys } from './ssh-keys.ts'

export type SshKeysNeeds = Platform & { audit: RecordAudit; writeAs: WriteAs; subscriptionScope: SubscriptionScope }

export function sshKeysModule({ store, clock, audit, writeAs, subscriptionScope: scope }: SshKeysNeeds) {
  const sshKeys = createSshKeys({ store, clock, audit, writeAs, scope })
  return {
    services: {},
    routes: ({ guard, answerOnce }) => [sshKeyRoutes({ guard, sshKeys, answerOnce })],
  } satisfies Module
}
