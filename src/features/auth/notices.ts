/** Notices by email about what happened to an account (ASVS V6.3.7), to the address that is stored for it. */
import { eq } from 'drizzle-orm'
import type { Actor } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import type { Queries } from '../../db/store.ts'
import { users } from '../../db/tables.ts'
import type { Author, Notice } from '../../mail/notice.ts'
import type { PutMail } from '../../mail/outbox.ts'
import type { FindWording } from '../../mail/wording.ts'

/**
 * Tells a user, in the transaction of what happened.
 *
 * @param actor who did it, where that may be somebody else: the notice then says so
 */
export type Notify = (tx: Queries, userId: number, notice: Notice, actor?: Actor) => Promise<void>

export type NotifyOptions = { clock: Clock; putMail: PutMail; findWording: FindWording }

/** Long enough for a mail server that is down over a weekend. */
const NOTICE_TTL_MS = 3 * 24 * 60 * 60 * 1000

export function createNotify({ clock, putMail, findWording }: NotifyOptions): Notify {
  return async (tx, userId, notice, actor) => {
    const [user] = await tx.select({ email: users.email }).from(users).where(eq(users.id, userId))
    if (!user) return
    const { email } = user
    const now = clock.now()
    const wording = await findWording(tx)
    const words = wording.notice(notice, { email, happenedAt: now, author: authorOf(actor, userId) })
    await putMail(tx, { to: email, ...words, expiresAt: now + NOTICE_TTL_MS })
  }
}

function authorOf(actor: Actor | undefined, userId: number): Author {
  if (actor?.kind === 'operator') return 'operator'
  return actor?.kind === 'user' && actor.userId !== userId ? 'administrator' : 'user'
}
