/** Failures and refusals on their way into the audit log: summed up, so that an attack can't fill the disk. */
import { type Actor, panel } from '../../core/actor.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError, catalogue, type ErrorCode } from '../../core/errors.ts'
import type { Store } from '../../db/store.ts'
import type { Outcome, RecordAudit } from './audit.ts'
import type { AuditEvent } from './events.ts'

export type IncidentsOptions = { store: Store; clock: Clock; record: RecordAudit }

export type Incidents = ReturnType<typeof createIncidents>

type Kind = Pick<Outcome, 'result' | 'reason'>
type Incident = { actor: Actor; event: AuditEvent; kind: Kind; count: number; since: number }

/** The first of its like is written at the next flush, the others are summed up for so long. */
const WINDOW_MS = 10 * 60 * 1000
/**
 * Different incidents of one window: two entries each at the most, some 10 MB a day under an attack that never ends.
 * What is more is counted by action and reason alone.
 */
const MAX_INCIDENTS = 100

export function createIncidents({ store, clock, record }: IncidentsOptions) {
  const incidents = new Map<string, Incident>()
  /** Those with something to write. */
  const pending = new Set<Incident>()

  function note(actor: Actor, event: AuditEvent, kind: Kind): void {
    const details = event.details === undefined ? '' : JSON.stringify(event.details)
    const key = `${event.action} ${kind.reason} ${event.accountId} ${whereabouts(actor)} ${details}`
    const known = incidents.get(key)
    if (known) known.count++
    else if (incidents.size < MAX_INCIDENTS) begin(key, actor, event, kind)
    else noteCrowd(event, kind)
  }

  /** One of so many that it can't be told from where they come. Actions and reasons are few. */
  function noteCrowd({ action }: AuditEvent, kind: Kind): void {
    const key = `crowd ${action} ${kind.reason}`
    const known = incidents.get(key)
    if (known) known.count++
    else begin(key, panel, { action, accountId: null, details: { from: 'many addresses' } }, kind)
  }

  function begin(key: string, actor: Actor, event: AuditEvent, kind: Kind): void {
    const incident = { actor, event, kind, count: 1, since: clock.now() }
    incidents.set(key, incident)
    pending.add(incident)
  }

  /** Lets go of what began a window ago: its sum, if it happened again, is still to be written. */
  function close(now: number): void {
    for (const [key, incident] of incidents) {
      if (now - incident.since < WINDOW_MS) continue
      incidents.delete(key)
      if (incident.count > 0) pending.add(incident)
    }
  }

  /** @param everything also what may still happen again: at the end of the process */
  async function flush({ everything = false } = {}): Promise<void> {
    close(everything ? Number.POSITIVE_INFINITY : clock.now())
    const taken = [...pending].map((incident) => ({ incident, times: incident.count }))
    if (taken.length === 0) return
    pending.clear()
    // What is counted meanwhile is left for the sum.
    for (const { incident, times } of taken) incident.count -= times
    const writing = store.write(async (tx) => {
      for (const { incident, times } of taken) {
        await record(tx, incident.actor, incident.event, { ...incident.kind, times })
      }
    })
    await writing.catch((error) => {
      for (const { incident, times } of taken) {
        incident.count += times
        pending.add(incident)
      }
      throw error
    })
  }

  function failed(actor: Actor, event: AuditEvent, code: ErrorCode): void {
    note(actor, event, { result: 'failure', reason: code })
  }

  return {
    flush,

    /** Somebody tried to prove who they are, and couldn't. */
    failed,

    /** A request that was turned away: for its credential, its rights, or its number. */
    refused(actor: Actor, code: ErrorCode, details: { method: string; route: string }): void {
      const accountId = actor.kind === 'user' ? actor.userId : null
      note(actor, { action: 'request', accountId, details }, { result: 'refused', reason: code })
    },

    /**
     * Does `work`, in which somebody proves who they are, and notes it when they can't.
     *
     * @param event what was tried, and at whose account
     * @throws whatever `work` throws
     */
    async watch<T>(actor: Actor, event: AuditEvent, work: () => Promise<T>): Promise<T> {
      try {
        return await work()
      } catch (error) {
        if (isFailedProof(error)) failed(actor, event, error.code)
        throw error
      }
    },
  }
}

/** A wrong password, code or token. A missing code is a question, not a failure. */
function isFailedProof(error: unknown): error is AppError {
  return error instanceof AppError && catalogue[error.code].status === 401 && error.code !== 'two_factor_required'
}

/** What tells one source from another: not the request's id, which is new each time. */
function whereabouts(actor: Actor): string {
  if (actor.kind === 'user') return `${actor.credential.kind} ${actor.origin.group}`
  return actor.kind === 'stranger' ? actor.origin.group : actor.kind
}
