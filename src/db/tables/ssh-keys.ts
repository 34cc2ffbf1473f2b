/** Keys for SFTP. Owner: features/hosting/ssh-keys. */
import { createdAt, id, index, integer, table, text, uniqueIndex } from '../columns.ts'
import { subscriptions } from './subscriptions.ts'

/** Public keys of those who may read and change the files of a subscription. */
export const sshKeys = table(
  'ssh_keys',
  {
    id: id(),
    subscriptionId: integer('subscription_id')
      .notNull()
      .references(() => subscriptions.id, { onDelete: 'cascade' }),
    /** Such as `ssh-ed25519`. */
    type: text().notNull(),
    /** In base64, as in a file of OpenSSH. */
    blob: text().notNull(),
    /** `SHA256:…`, as `ssh-keygen -l` shows it. */
    fingerprint: text().notNull(),
    comment: text().notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    uniqueIndex('ssh_keys_fingerprint').on(table.fingerprint, table.subscriptionId),
    index('ssh_keys_subscription').on(table.subscriptionId, table.id),
  ],
)
