/** Records failures and refusals in the audit log, summed up so that an attack cannot fill the disk. */
import { type AuditedActor, panelItself } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError, catalogue, type ErrorCode } from '../../../core/errors.ts'
import type { Store } from '../../../db/store.ts'
import type { Outcome, RecordAudit } from './audit.ts'
import type { AuditEvent } from './events.ts'

export type IncidentsOptions = { store: Store; clock: Clock; record: RecordAudit }

export type Incidents = ReturnType<typeof createIncidents>

type Kind = Pick<Outcome, 'result' | 'reason'>
/** The pool in which an incident takes a place: failures at a known account, or all others. A sum takes none. */
type Place = { pool: 'account' | 'other'; source: string }
type Incident = {
  actor: AuditedActor
  event: AuditEvent
  kind: Kind
  place: Place | undefined
  count: number
  since: number
}

/** The first of a kind is written at the next flush; further ones are summed up for this long. */
const WINDOW_MS = 10 * 60 * 1000
/**
 * Different incidents per window, in each of the two pools: at most two entries each, some 10 MB a day under an endless
 * attack. Beyond that, only action and reason are counted. With pools of their own, refusals, which cost an attacker
 * nothing, cannot hide which account is under attack.
 */
const MAX_OF_POOL = 50
/** Of these, from one source; beyond that, counted by source, action and reason. */
const MAX_OF_SOURCE = 10

export function createIncidents({ store, clock, record }: IncidentsOptions) {
  const incidents = new Map<string, Incident>()
  /** Incidents with something to write. */
  const pending = new Set<Incident>()

  function note(actor: AuditedActor, event: AuditEvent, kind: Kind): void {
    const details = event.details === undefined ? '' : JSON.stringify(event.details)
    const what = `${event.action} ${kind.reason}`
    const key = `${what} ${event.accountId} ${whereabouts(actor)} ${details}`
    if (countAgain(key)) return
    const source = sourceOf(actor)
    const pool = kind.result === 'failure' && event.accountId !== null ? 'account' : 'other'
    const taken = placesTaken(pool, source)
    if (taken.bySource >= MAX_OF_SOURCE) {
      sum(`others ${what} ${source}`, withoutUser(actor), event.action, kind, 'others from this address')
    } else if (taken.byAll >= MAX_OF_POOL) {
      sum(`crowd ${what}`, panelItself, event.action, kind, 'many addresses')
    } else {
      begin(key, { actor, event, kind, place: { pool, source } })
    }
  }

  /** Counted in one pass: under an attack, this runs for nearly every refusal. */
  function placesTaken(pool: Place['pool'], source: string): { byAll: number; bySource: number } {
    let byAll = 0
    let bySource = 0
    for (const { place } of incidents.values()) {
      if (place?.pool !== pool) continue
      byAll++
      if (place.source === source) bySource++
    }
    return { byAll, bySource }
  }

  /** One of too many to record each. Actions and reasons are few. */
  function sum(key: string, actor: AuditedActor, action: AuditEvent['action'], kind: Kind, from: string): void {
    if (countAgain(key)) return
    begin(key, { actor, event: { action, accountId: null, details: { from } }, kind, place: undefined })
  }

  /** @returns whether one with this key exists in the window */
  function countAgain(key: string): boolean {
    const known = incidents.get(key)
    if (known) known.count++
    return known !== undefined
  }

  function begin(key: string, noted: Omit<Incident, 'count' | 'since'>): void {
    const incident = { ...noted, count: 1, since: clock.now() }
    incidents.set(key, incident)
    pending.add(incident)
  }

  /** Drops what began a window ago: if it happened again, its sum is still to be written. */
  function close(now: number): void {
    for (const [key, incident] of incidents) {
      const age = now - incident.since
      // One from the future began before the clock was set back.
      if (age >= 0 && age < WINDOW_MS) continue
      incidents.delete(key)
      if (incident.count > 0) pending.add(incident)
    }
  }

  /** @param everything including what may still happen again: for when the process ends */
  async function flush({ everything = false } = {}): Promise<void> {
    close(everything ? Number.POSITIVE_INFINITY : clock.now())
    const taken = [...pending].map((incident) => ({ incident, times: incident.count }))
    if (taken.length === 0) return
    pending.clear()
    // Anything counted from here on belongs to the sum.
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

  function failed(actor: AuditedActor, event: AuditEvent, code: ErrorCode): void {
    note(actor, event, { result: 'failure', reason: catalogue[code].error })
  }

  return {
    flush,

    /** Records a failed attempt to authenticate. */
    failed,

    /** A request refused for its credential, its rights or the rate limit. */
    refused(actor: AuditedActor, code: ErrorCode, details: { method: string; route: string }): void {
      const accountId = actor.kind === 'user' ? actor.userId : null
      note(actor, { action: 'request', accountId, details }, { result: 'refused', reason: catalogue[code].error })
    },

    /**
     * Does `work`, which authenticates a client, and records a failure.
     *
     * @param event what was tried, and on whose account
     * @throws whatever `work` throws
     */
    async watch<T>(actor: AuditedActor, event: AuditEvent, work: () => Promise<T>): Promise<T> {
      try {
        return await work()
      } catch (error) {
        if (isFailedProof(error)) failed(actor, event, error.code)
        throw error
      }
    },
  }
}

/** A wrong password, code or token. A missing code is a question, not a failure; an ended credential, a refusal. */
function isFailedProof(error: unknown): error is AppError {
  if (!(error instanceof AppError) || catalogue[error.code].status !== 401) return false
  return error.code !== 'two_factor_required' && error.code !== 'not_authenticated'
}

/** What distinguishes incidents: not the request's id, which is always new. */
function whereabouts(actor: AuditedActor): string {
  if (actor.kind === 'node') return `node ${actor.nodeId} ${sourceOf(actor)}`
  return actor.kind === 'user' ? `${actor.credential.kind} ${sourceOf(actor)}` : sourceOf(actor)
}

/** Not the user: an attacker has many as easily as one. */
function sourceOf(actor: AuditedActor): string {
  return 'origin' in actor ? actor.origin.group : actor.kind
}

/** With many users from one address, none in particular is meant. */
function withoutUser(actor: AuditedActor): AuditedActor {
  return actor.kind === 'user' ? { kind: 'unauthenticated', origin: actor.origin } : actor
}
