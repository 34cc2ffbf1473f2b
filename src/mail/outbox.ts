/** The outbox: emails as jobs, sent until the mail server accepts them or they expire. */
import type { Clock } from '../core/clock.ts'
import type { SecretBox } from '../crypto/secret-box.ts'
import type { Queries, Store } from '../db/store.ts'
import type { Backoff } from '../jobs/backoff.ts'
import { createQueue, type LeasedJob, type Worker } from '../jobs/queue.ts'
import type { Log } from '../log/log.ts'
import { type Mail, type Mailer, SEND_TIMEOUT_MS } from './mailer.ts'

export type OutgoingMail = Mail & {
  /** The deadline, in milliseconds since the epoch; the email is then given up. */
  expiresAt: number
  /** Replaces a waiting email of the same topic. */
  topic?: string
}

/** Queues an email in the caller's transaction: no email without the change, no change without the email. */
export type PutMail = (tx: Queries, mail: OutgoingMail) => Promise<void>

/** Withdraws the waiting email of a topic, in the caller's transaction. */
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

/** As it is stored. The text is sealed (AES-256-GCM): it may hold a live reset link. */
type StoredMail = { to: string; subject: string; body: string }

const BACKOFF: Backoff = { firstDelayMs: 30_000, longestDelayMs: 4 * 60 * 60 * 1000 }
/**
 * A link that lives ten minutes is tried every minute: a server that greylists takes an email after one to five minutes
 * (RFC 6647 §5), and its reader needs some of the ten too.
 */
const URGENT = { lifetimeMs: 15 * 60 * 1000, backoff: { ...BACKOFF, longestDelayMs: 60 * 1000 } }
const REMINDER_MS = 60 * 60 * 1000

export function createOutbox({ store, clock, deletableBefore, log, secretBox, mailer }: OutboxOptions) {
  let remindedAt = Number.NEGATIVE_INFINITY
  let isServing = false

  const queue = createQueue({
    store,
    clock,
    deletableBefore,
    kind: 'email',
    worker: mailer && createWorker(mailer, secretBox),
    leaseMs: 2 * SEND_TIMEOUT_MS,
    backoff: BACKOFF,
    urgent: URGENT,
    log,
    failure: 'the outbox could not be read or written',
    tell: {
      expired: ({ id }) => log.warn({ mail: id }, 'email dropped: it could not be sent before it expired'),
      failed: (job, error, retryInMs) =>
        log.warn(
          { ...fieldsOf(job), retryInSeconds: retryInMs / 1000, ...reasonOf(error) },
          'email not sent; it will be tried again',
        ),
      refused: (job, error) =>
        log.warn({ ...fieldsOf(job), ...reasonOf(error) }, 'email permanently refused; it will not be tried again'),
    },
  })

  function remindOperator(): void {
    if (clock.now() - remindedAt < REMINDER_MS) return
    remindedAt = clock.now()
    log.warn(
      {},
      'emails are not sent, not even for password resets: set NCP_SMTP_URL, NCP_MAIL_FROM and NCP_PUBLIC_URL',
    )
  }

  return {
    withdraw: queue.withdraw,

    /** A panel without a mail server drops the email. The command line, which may not know of the server, keeps it. */
    async put(tx: Queries, { to, subject, text, topic, expiresAt }: OutgoingMail): Promise<void> {
      if (isServing && !mailer) return remindOperator()
      const mail: StoredMail = { to, subject, body: secretBox.seal(text, bodyContext(to)) }
      await queue.put(tx, { payload: JSON.stringify(mail), expiresAt, ...(topic !== undefined && { topic }) })
    },

    /** Sends what is due now. Resolves when it has been tried; a failure is logged and tried again later. */
    deliver: queue.runDue,

    /** Since when the oldest email waits that could not be sent, in milliseconds since the epoch. */
    waitingSince: queue.waitingSince,

    /** Emails that wait, those under way included; 10,000 for any number above. */
    countWaiting: queue.countWaiting,

    /** Begins to send: for the process that serves, and not for one command. */
    start(): void {
      isServing = true
      queue.start()
      if (!mailer) remindOperator()
    },

    /** Lets emails under way finish for a moment, then cuts them off; they are sent after the next start. */
    stop: queue.stop,
  }
}

function createWorker(mailer: Mailer, secretBox: SecretBox): Worker {
  return {
    async work({ payload }, cut) {
      const { to, subject, body }: StoredMail = JSON.parse(payload)
      await mailer.send({ to, subject, text: secretBox.open(body, bodyContext(to)) }, cut)
    },
    isFinal: isPermanent,
  }
}

/** Binds a body to its recipient: moved to another email it does not open. */
const bodyContext = (recipient: string) => `mail:${recipient}`

const fieldsOf = ({ id, attempts }: LeasedJob) => ({ mail: id, attempt: attempts })

/**
 * Whether the server refused this recipient or this text for good (RFC 5321 §4.2.1). A 5xx before that, to a login or a
 * sender, says something about the configuration, which the operator mends while the email waits.
 */
function isPermanent(error: unknown): boolean {
  const { command, responseCode } = error as Record<string, unknown>
  const isOfThisMail = command === 'RCPT TO' || command === 'DATA'
  return isOfThisMail && typeof responseCode === 'number' && responseCode >= 500
}

/** What an operator needs. Not what the server wrote: one that refuses an email may quote the link in it. */
function reasonOf(error: unknown): object {
  const { code, command, responseCode, message } = error as Record<string, unknown>
  return responseCode === undefined ? { code, command, reason: message } : { code, command, status: responseCode }
}
