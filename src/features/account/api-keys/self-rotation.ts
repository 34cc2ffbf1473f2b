/** Lets an API key give itself a new secret and a new expiry, if its creator and the settings allow it. */
import type { Caller } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { formatTimestamp } from '../../../core/timestamp.ts'
import type { Conclude, Queries } from '../../../db/store.ts'
import type { RecordAudit } from '../../operation/audit/audit.ts'
import type { WriteAs } from '../credentials/write-as.ts'
import type { Notify } from '../notices.ts'
import { noticesPast } from './expiry-notices.ts'
import { createRecord, timeOrNull } from './record.ts'
import { SELF_ROTATION_IS_OFF } from './renewal.ts'
import { type CreatedApiKey, changeKey, earliest, findKey } from './rows.ts'
import { newSecret } from './secret.ts'

/** How long the old secret works, unless it expires earlier. */
const GRACE_MS = 24 * 60 * 60 * 1000

export type SelfRotationOptions = {
  clock: Clock
  writeAs: WriteAs
  audit: RecordAudit
  notify: Notify
  /** Whether the settings allow it. */
  isAllowed(tx: Queries): Promise<boolean>
}

/**
 * Rotates the calling key. From then on it lives as long as it did at first, but never beyond the limit set when it was
 * created.
 *
 * @throws AppError `forbidden` if the settings or the key do not allow it, `conflict` for a secret that was already
 * rotated, and while an earlier one still works
 */
export type RotateSelf = (caller: Caller, conclude?: Conclude<CreatedApiKey>) => Promise<CreatedApiKey>

export function createRotateSelf({ clock, writeAs, audit, notify, isAllowed }: SelfRotationOptions): RotateSelf {
  const record = createRecord(audit)

  return (caller, conclude) =>
    writeAs(caller, async (tx, caller) => {
      const { credential, origin } = caller
      if (credential.kind !== 'api_key') throw new AppError('forbidden')
      if (!(await isAllowed(tx))) throw new AppError('forbidden', SELF_ROTATION_IS_OFF)
      const before = await findKey(tx, credential.keyId)
      const { expiresAt, lifetimeMs, renewableUntil } = before ?? {}
      if (!before || !expiresAt || !lifetimeMs || !renewableUntil) {
        throw new AppError('forbidden', 'This API key may not rotate itself: it was created without can_rotate')
      }
      const now = clock.now()
      if (credential.superseded) {
        throw new AppError('conflict', 'A rotation has already replaced this secret; use the new one')
      }
      const newEnd = Math.min(now + lifetimeMs, renewableUntil)
      requireRested({ previousValidUntil: before.previousValidUntil, expiresAt, newEnd }, now)

      const { key, ...secret } = newSecret()
      const row = await changeKey(tx, before.id, {
        ...secret,
        expiresAt: newEnd,
        previousKeyHash: before.keyHash,
        previousKeyPrefix: before.keyPrefix,
        // The rotation never extends the life of the old secret.
        previousValidUntil: Math.min(now + GRACE_MS, expiresAt),
        noticedDays: noticesPast(newEnd, now),
      })
      const { name, keyPrefix: prefix, previousValidUntil } = row
      await notify(tx, caller.userId, {
        kind: 'api_key_rotated_itself',
        name,
        prefix,
        expiresAt: newEnd,
        previousValidUntil,
        renewableUntil,
        address: origin.address,
      })
      await record(tx, caller, 'api_key.rotate', row, {
        expiresAt: formatTimestamp(newEnd),
        previousKeyPrefix: before.keyPrefix,
        previousValidUntil: timeOrNull(previousValidUntil),
      })
      await conclude?.(tx, { row, key })
      return { row, key }
    })
}

/**
 * One rotation at a time: a second would end the previous secret at once, breaking a script that has yet to notice. The
 * exception is when the whole key would expire first, as it can after a rotation by hand.
 *
 * @throws AppError `conflict`
 */
function requireRested(
  { previousValidUntil, expiresAt, newEnd }: { previousValidUntil: number | null; expiresAt: number; newEnd: number },
  nowMs: number,
): void {
  if (previousValidUntil === null || previousValidUntil <= nowMs) return
  if (previousValidUntil >= expiresAt && newEnd > expiresAt) return
  const end = formatTimestamp(earliest(previousValidUntil, expiresAt))
  throw new AppError('conflict', `The secret before this one works until ${end}; rotate again after that`)
}
