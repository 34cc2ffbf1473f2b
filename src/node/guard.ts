/** When a node does nothing of what it is told: what the panel says would take away too much, or it is not the panel it was. */
import type { Held } from './protocol.ts'

/** A whole answer, compared with what is served. */
export type WholeAnswer = {
  installationId: string
  epoch: string
  /** Sites that are served now. */
  served: number
  /** Of these, sites that the answer does not name. */
  absent: number
}

/** Asked before a whole answer is followed. */
export type Guard = {
  /** @returns why nothing is to change */
  check(answer: WholeAnswer): Promise<Held | undefined>
  /** Resolves when an operator has accepted what is held, or when aborted. */
  accepted(signal: AbortSignal): Promise<void>
  /** Before anything is made for these subscriptions: no uid is given twice. */
  remember(subscriptionIds: readonly number[]): Promise<void>
  /** Of all that were remembered. */
  highestSubscriptionId(): number
}

const MOST_ABSENT = 10
const MOST_ABSENT_SHARE = 0.1

/** Whether an answer that names so few sites is more likely a fault than meant. */
export const lacksTooMany = ({ served, absent }: Pick<WholeAnswer, 'served' | 'absent'>): boolean =>
  absent > MOST_ABSENT && absent > served * MOST_ABSENT_SHARE
