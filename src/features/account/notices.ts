/** Emails that tell a user what happened to the account (ASVS V6.3.7), sent to its stored address. */
import { eq } from 'drizzle-orm'
import type { Actor } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import type { Queries } from '../../db/store.ts'
import { users } from '../../db/tables.ts'
import type { Author, Notice } from '../../mail/notice.ts'
import type { PutMail } from '../../mail/outbox.ts'
import type { FindWording } from '../../mail/wording.ts'
import { type AllowancePolicy, readAllowances, spendAllowance, writeAllowance } from './allowance.ts'

/**
 * Notifies a user, in the transaction of the event.
 *
 * @param actor given where it may be another than the user: the notice then says so
 */
export type Notify = (tx: Queries, userId: number, notice: Notice, actor?: Actor) => Promise<void>

export type NotifyOptions = { clock: Clock; putMail: PutMail; findWording: FindWording }

/** Long enough for a mail server that is down for a weekend. */
const NOTICE_TTL_MS = 3 * 24 * 60 * 60 * 1000

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * MINUTE_MS

type Allowance = { name: string; policy: AllowancePolicy }
/**
 * At most two hundred emails to a user at once, then one every ten minutes: a key can be rotated with every request,
 * and each email waits for days while the mail server is down.
 */
const EMAILS: Allowance = {
  name: 'emails',
  policy: { free: 200, firstDelayMs: MINUTE_MS, longestDelayMs: 10 * MINUTE_MS },
}
/** Replaces further emails: an attacker must not be able to hide a change among many others. */
const SUMMARIES: Allowance = {
  name: 'emails of many',
  policy: { free: 1, firstDelayMs: HOUR_MS, longestDelayMs: HOUR_MS },
}

export function createNotify({ clock, putMail, findWording }: NotifyOptions): Notify {
  async function spend(tx: Queries, userId: number, { name, policy }: Allowance): Promise<boolean> {
    const used = (await readAllowances(tx, userId, [name])).get(name)
    const after = spendAllowance(policy, used, clock.now())
    if (after) await writeAllowance(tx, userId, name, after)
    return after !== undefined
  }

  return async (tx, userId, happened, actor) => {
    const [user] = await tx.select({ email: users.email }).from(users).where(eq(users.id, userId))
    if (!user) return
    const isTold = await spend(tx, userId, EMAILS)
    if (!isTold && !(await spend(tx, userId, SUMMARIES))) return
    const notice: Notice = isTold ? happened : { kind: 'many_changes' }
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
