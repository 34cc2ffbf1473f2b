/** Mails on their way: put down in the transaction of what they tell of, sent afterwards until they are sent or stale. */
import { and, asc, eq, gt, gte, inArray, lte, sql } from 'drizzle-orm'
import type { Clock } from '../core/clock.ts'
import type { SecretBox } from '../crypto/secret-box.ts'
import { countUpTo } from '../db/count.ts'
import type { Queries, Store } from '../db/store.ts'
import { outbox } from '../db/tables.ts'
import type { Log } from '../log/log.ts'
import { type Mail, type Mailer, SEND_TIMEOUT_MS } from './mailer.ts'

export type OutgoingMail = Mail & {
  /** Milliseconds since the epoch; from then on it is not worth sending. */
  expiresAt: number
  /** Replaces a mail of the same topic that still waits. */
  topic?: string
}

/** Puts a mail down in the caller's transaction: no mail without the change, no change without the mail. */
export type PutMail = (tx: Queries, mail: OutgoingMail) => Promise<void>

/** Takes back what waits of a topic, in the caller's transaction. */
export type WithdrawMail = (tx: Queries, topic: string) => Promise<void>

export type OutboxOptions = {
  store: Store
  clock: Clock
  /** What expired before may be deleted for good. */
  deletableBefore(): number
  log: Log
  secretBox: SecretBox
  /** Undefined where no mail server is configured. */
  mailer: Mailer | undefined
}

export type Outbox = ReturnType<typeof createOutbox>

type OutboxRow = typeof outbox.$inferSelect

/**
 * How often to look for mails that are due. Not at once after each request: what the panel does next would tell
 * whether there was a mail to send, and so whether an address is known.
 */
const POLL_MS = 2000
/** Mails at a time, so that a slow one doesn't hold up the others. */
const BATCH = 5
/** Emails looked at for the most urgent, in each of two orders. */
const CANDIDATES = 200
/** Stale emails deleted at a time. */
const SWEEP = 100
/** How long a mail is one process's to send. A process that dies meanwhile leaves it to the next after that. */
const CLAIM_MS = 2 * SEND_TIMEOUT_MS
const FIRST_RETRY_MS = 30_000
const LONGEST_RETRY_MS = 4 * 60 * 60 * 1000
/**
 * A link that lives ten minutes is tried every minute: a server that greylists takes a mail after one to five minutes (RFC 6647
 * §5), and its reader needs some of the ten too.
 */
const URGENT_MS = 15 * 60 * 1000
const LONGEST_URGENT_RETRY_MS = 60 * 1000
/** What mails under way get to finish at shutdown. */
const STOP_MS = 2000
/** What monitoring is told at the most. */
const MAX_COUNT = 10_000
const REMINDER_MS = 60 * 60 * 1000

export function createOutbox({ store, clock, deletableBefore, log, secretBox, mailer }: OutboxOptions) {
  const cut = new AbortController()
  let polling: ReturnType<typeof setInterval> | undefined
  let remindedAt = Number.NEGATIVE_INFINITY
  let pass = Promise.resolve()
  let isPassWaiting = false
  let isStopping = false

  function remindOperator(): void {
    if (clock.now() - remindedAt < REMINDER_MS) return
    remindedAt = clock.now()
    log.warn({}, 'no email is sent, not even to reset a password: set NCP_SMTP_URL, NCP_MAIL_FROM and NCP_PUBLIC_URL')
  }

  /** Forgets what has expired and takes what is due, the most urgent first, for this process alone. */
  async function claim(): Promise<OutboxRow[]> {
    const now = clock.now()
    return store.write(async (tx) => {
      const expired = tx
        .select({ id: outbox.id })
        .from(outbox)
        .where(lte(outbox.expiresAt, deletableBefore()))
        .limit(SWEEP)
      const stale = await tx.delete(outbox).where(inArray(outbox.id, expired)).returning({ id: outbox.id })
      for (const { id } of stale) log.warn({ mail: id }, 'email given up: it was not sent in time')
      if (!mailer) return []
      const due = await findDue(tx, now)
      if (due.length === 0) return []
      return tx
        .update(outbox)
        .set({ attempts: sql`${outbox.attempts} + 1`, nextAttemptAt: now + CLAIM_MS })
        .where(inArray(outbox.id, due))
        .returning()
    })
  }

  async function send(
    mailer: Mailer,
    { id, recipient, subject, body, attempts, createdAt, expiresAt }: OutboxRow,
  ): Promise<void> {
    try {
      const text = secretBox.open(body, bodyContext(recipient))
      await mailer.send({ to: recipient, subject, text }, cut.signal)
    } catch (error) {
      if (isPermanent(error)) {
        await store.write((tx) => tx.delete(outbox).where(eq(outbox.id, id)))
        log.warn({ mail: id, attempt: attempts, ...reasonOf(error) }, 'email refused for good: it is not sent again')
        return
      }
      const delay = cut.signal.aborted ? 0 : retryDelay(attempts, expiresAt - createdAt)
      const nextAttemptAt = clock.now() + delay
      await store.write((tx) => tx.update(outbox).set({ nextAttemptAt }).where(eq(outbox.id, id)))
      log.warn({ mail: id, attempt: attempts, retryInSeconds: delay / 1000, ...reasonOf(error) }, 'email not sent')
      return
    }
    await store.write((tx) => tx.delete(outbox).where(eq(outbox.id, id)))
  }

  async function sendAllDue(): Promise<void> {
    while (!isStopping) {
      const claimed = await claim()
      if (!mailer || claimed.length === 0) return
      // All of them first: what is still under way when the pass ends would outlive `stop`.
      const outcomes = await Promise.allSettled(claimed.map((row) => send(mailer, row)))
      const failure = outcomes.find((outcome) => outcome.status === 'rejected')
      if (failure) throw failure.reason
    }
  }

  /** Sends what is due now. Resolves when it has been tried; a failure is logged and tried again later. */
  function deliver(): Promise<void> {
    // One pass at a time, and at most one waiting: it will find all that the others would.
    if (isPassWaiting) return pass
    isPassWaiting = true
    pass = pass
      .then(() => {
        isPassWaiting = false
        return sendAllDue()
      })
      .catch((err) => log.error({ err }, 'the outbox could not be read or written'))
    return pass
  }

  /** Deletes a mail that still waits, or is under way and will not be tried again. */
  const withdraw: WithdrawMail = async (tx, topic) => {
    await tx.delete(outbox).where(eq(outbox.topic, topic))
  }

  return {
    withdraw,

    /** A panel without a mail server drops the mail. The command line, which may not know of the server, keeps it. */
    async put(tx: Queries, { to, subject, text, topic, expiresAt }: OutgoingMail): Promise<void> {
      if (polling && !mailer) return remindOperator()
      const now = clock.now()
      // Deleted and not changed: the old one may be under way, and must not take the new one with it when it is done.
      if (topic !== undefined) await withdraw(tx, topic)
      await tx.insert(outbox).values({
        recipient: to,
        subject,
        body: secretBox.seal(text, bodyContext(to)),
        topic: topic ?? null,
        createdAt: now,
        nextAttemptAt: now,
        expiresAt,
      })
    },

    deliver,

    /** Since when the oldest mail waits that was tried in vain, in milliseconds since the epoch. */
    async waitingSince(): Promise<number | undefined> {
      const [oldest] = await store.read
        .select({ since: outbox.createdAt })
        .from(outbox)
        // As a number and not as a parameter: only then does SQLite take the index of those.
        .where(and(sql`attempts > 0`, gte(outbox.createdAt, 0), gt(outbox.expiresAt, clock.now())))
        .orderBy(asc(outbox.createdAt))
        .limit(1)
      return oldest?.since
    },

    /** Emails that wait, those under way included; 10,000 for any number above. */
    countWaiting: () => countUpTo(store.read, store.read.select({ one: sql`1` }).from(outbox), MAX_COUNT),

    /** Begins to send: for the process that serves, and not for one command. */
    start(): void {
      polling = setInterval(deliver, POLL_MS)
      polling.unref()
      if (!mailer) remindOperator()
    },

    /** Lets mails under way finish for a moment, then cuts them off; they are sent after the next start. */
    async stop(): Promise<void> {
      isStopping = true
      clearInterval(polling)
      const deadline = setTimeout(() => cut.abort(), STOP_MS)
      await pass
      clearTimeout(deadline)
    },
  }
}

/**
 * The most urgent of the emails that are due. However many wait, few are looked at: those that expire first, which may be
 * put off, and those whose turn came first, so that none waits for ever.
 */
async function findDue(tx: Queries, now: number): Promise<number[]> {
  const columns = { id: outbox.id, expiresAt: outbox.expiresAt, nextAttemptAt: outbox.nextAttemptAt }
  // Nothing is put off further than this: the clock has been put back since.
  const tooFar = now + LONGEST_RETRY_MS
  const found = [
    ...(await tx
      .select(columns)
      .from(outbox)
      .where(gt(outbox.expiresAt, now))
      .orderBy(asc(outbox.expiresAt))
      .limit(CANDIDATES)),
    ...(await tx
      .select(columns)
      .from(outbox)
      .where(lte(outbox.nextAttemptAt, now))
      .orderBy(asc(outbox.nextAttemptAt))
      .limit(CANDIDATES)),
    ...(await tx.select(columns).from(outbox).where(gt(outbox.nextAttemptAt, tooFar)).limit(BATCH)),
  ]
  const due = found.filter(
    ({ expiresAt, nextAttemptAt }) => expiresAt > now && (nextAttemptAt <= now || nextAttemptAt > tooFar),
  )
  const mostUrgent = due.sort((one, other) => one.expiresAt - other.expiresAt).map(({ id }) => id)
  return [...new Set(mostUrgent)].slice(0, BATCH)
}

/** Binds a body to its recipient: moved to another row it does not open. */
const bodyContext = (recipient: string) => `mail:${recipient}`

/**
 * @param attempts how often it was tried, from 1
 * @param lifetimeMs from the mail's making to its expiry
 */
function retryDelay(attempts: number, lifetimeMs: number): number {
  const longest = lifetimeMs <= URGENT_MS ? LONGEST_URGENT_RETRY_MS : LONGEST_RETRY_MS
  return Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), longest)
}

/**
 * Whether the server refused this recipient or this text for good (RFC 5321 §4.2.1). A 5xx before that, to a login or a
 * sender, says something about the configuration, which the operator mends while the mail waits.
 */
function isPermanent(error: unknown): boolean {
  const { command, responseCode } = error as Record<string, unknown>
  const isOfThisMail = command === 'RCPT TO' || command === 'DATA'
  return isOfThisMail && typeof responseCode === 'number' && responseCode >= 500
}

/** What an operator needs. Not what the server wrote: one that refuses a mail may quote the link in it. */
function reasonOf(error: unknown): object {
  const { code, command, responseCode, message } = error as Record<string, unknown>
  return responseCode === undefined ? { code, command, reason: message } : { code, command, status: responseCode }
}
