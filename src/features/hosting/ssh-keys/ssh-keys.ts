/** Keys for SFTP: who holds one may read and change the files of the subscription. Its node writes them for its sshd. */
import { and, asc, eq, gt } from 'drizzle-orm'
import type { Caller } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { pieceOf, readPage } from '../../../db/page-reader.ts'
import type { Conclude, ReadStore } from '../../../db/store.ts'
import { sshKeys } from '../../../db/tables.ts'
import { desired } from '../../../node/desired-states.ts'
import type { WriteAs } from '../../account/credentials/write-as.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { SubscriptionScope } from '../subscriptions/scope.ts'
import { readPublicKey } from './public-key.ts'

export type SshKey = typeof sshKeys.$inferSelect

/** Of a subscription. */
const MOST_KEYS = 50

export type SshKeysOptions = {
  store: ReadStore
  clock: Clock
  audit: RecordAudit
  writeAs: WriteAs
  scope: SubscriptionScope
}

export type SshKeys = ReturnType<typeof createSshKeys>

export function createSshKeys({ store, clock, audit, writeAs, scope }: SshKeysOptions) {
  return {
    /** @throws AppError `not_found`, `forbidden` */
    async requireSubscription(caller: Caller, subscriptionId: number): Promise<void> {
      await scope.findOwn(store.read, caller, subscriptionId)
    },

    /** @throws AppError `not_found`, `forbidden` */
    async list(caller: Caller, subscriptionId: number, page: PageRequest): Promise<Page<SshKey>> {
      await scope.findOwn(store.read, caller, subscriptionId)
      return readPage(store, page, async (afterId, wanted) =>
        pieceOf(
          await store.read
            .select()
            .from(sshKeys)
            .where(and(eq(sshKeys.subscriptionId, subscriptionId), gt(sshKeys.id, afterId)))
            .orderBy(asc(sshKeys.id))
            .limit(wanted),
          wanted,
        ),
      )
    },

    /**
     * @param text a line of a `.pub` file
     * @throws AppError `validation_error`, `not_found`, `forbidden`, and `conflict` for a key that is there, a suspended
     * subscription or the 51st key
     */
    async add(caller: Caller, subscriptionId: number, text: string, conclude?: Conclude<SshKey>): Promise<SshKey> {
      const key = readPublicKey(text)
      return writeAs(caller, async (tx, caller) => {
        const subscription = await scope.findOwn(tx, caller, subscriptionId)
        if (subscription.status !== 'active') throw new AppError('conflict', 'The subscription is suspended')
        if ((await tx.$count(sshKeys, eq(sshKeys.subscriptionId, subscriptionId))) >= MOST_KEYS) {
          throw new AppError('conflict', `A subscription has at most ${MOST_KEYS} keys`)
        }
        const [added] = await tx
          .insert(sshKeys)
          .values({ subscriptionId, ...key, createdAt: clock.now() })
          .onConflictDoNothing({ target: [sshKeys.subscriptionId, sshKeys.fingerprint] })
          .returning()
        if (!added) throw new AppError('conflict', 'public_key: the subscription has this key already')
        await desired.announce(tx, subscriptionId)
        await audit(tx, caller, {
          action: 'ssh_key.create',
          accountId: subscription.userId,
          target: { type: 'ssh_key', id: added.id },
          details: { subscriptionId, fingerprint: key.fingerprint, comment: key.comment },
        })
        await conclude?.(tx, added)
        return added
      })
    },

    /** In a suspended subscription too. @throws AppError `not_found`, `forbidden` */
    async remove(caller: Caller, subscriptionId: number, id: number): Promise<void> {
      await writeAs(caller, async (tx, caller) => {
        const subscription = await scope.findOwn(tx, caller, subscriptionId)
        const [removed] = await tx
          .delete(sshKeys)
          .where(and(eq(sshKeys.id, id), eq(sshKeys.subscriptionId, subscriptionId)))
          .returning()
        if (!removed) throw new AppError('not_found', 'No such key of this subscription')
        await desired.announce(tx, subscriptionId)
        await audit(tx, caller, {
          action: 'ssh_key.delete',
          accountId: subscription.userId,
          target: { type: 'ssh_key', id },
          details: { subscriptionId, fingerprint: removed.fingerprint, comment: removed.comment },
        })
      })
    },
  }
}
