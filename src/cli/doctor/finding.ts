/** What a check of `ncp doctor` reports: a finding in one sentence, and what to do next. */
import type { Config } from '../../config/schema.ts'
import type { Clock } from '../../core/clock.ts'
import { inTime } from '../../core/in-time.ts'
import { explain } from '../explain.ts'

export type Status = 'ok' | 'warning' | 'failed'

export type Finding = {
  status: Status
  message: string
  /** What to do, where there is something. */
  next?: string | undefined
}

export type Situation = { config: Config; clock: Clock }

/** Looks, changes nothing, and reports one finding or several. Throwing counts as failed, with the message of the error. */
export type Check = (situation: Situation) => Finding[] | Promise<Finding[]>

export const ok = (message: string, next?: string): Finding => ({ status: 'ok', message, next })
export const warning = (message: string, next?: string): Finding => ({ status: 'warning', message, next })
export const failed = (message: string, next?: string): Finding => ({ status: 'failed', message, next })

/** `problems`, or `message` as the one finding when there are none. */
export function orOk(problems: Finding[], message: string): Finding[] {
  return problems.length > 0 ? problems : [ok(message)]
}

const PATIENCE_MS = 10_000

/**
 * Runs a check for ten seconds at most: a name server or a mail server may never answer.
 *
 * @param next what to do when it does not
 */
export async function bounded(look: () => Finding[] | Promise<Finding[]>, next: string): Promise<Finding[]> {
  const findings = await inTime(looked(look), PATIENCE_MS)
  return findings ?? [failed(`no answer within ${PATIENCE_MS / 1000} seconds`, next)]
}

async function looked(look: () => Finding[] | Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look()
  } catch (error) {
    return [failed(explain(error))]
  }
}
