/** How much an account may write to the audit log per day; the rest is summed up, so no account can fill the disk. */
import type { AuditedActor } from '../../../core/actor.ts'
import type { Clock } from '../../../core/clock.ts'
import { createDailyBudget } from '../../../core/daily-budget.ts'
import type { Action, AuditEvent } from './events.ts'

/** What a customer does with sites and subscriptions must not hide what is done with credentials: a budget for each. */
type Pool = 'resources' | 'credentials' | 'password'

/** Bytes per day and account. */
const BUDGET: Record<Pool, number> = { resources: 512 * 1024, credentials: 256 * 1024, password: 64 * 1024 }
/** Approximate size of an entry besides its details, in the table and its indexes. */
const ENTRY_BYTES = 400

/** Actions that a password alone can repeat endlessly and that leave the account unchanged: 100 MB of entries a day. */
const REPEATABLE: ReadonlySet<Action> = new Set<Action>(['auth.two_factor_setup', 'auth.password_change'])

export type Budget = ReturnType<typeof createBudget>

export function createBudget({ clock }: { clock: Clock }) {
  const budget = createDailyBudget(clock)

  return {
    /** @returns whether there is room for an entry, which is then used up */
    take(actor: AuditedActor, event: AuditEvent, details: string): boolean {
      const pool = poolOf(actor, event)
      if (pool === undefined) return true
      return budget.take(`${pool} ${event.accountId}`, ENTRY_BYTES + details.length, BUDGET[pool])
    },
  }
}

/** @returns undefined for what is always written: by administrators, operator or panel, or on account security */
function poolOf(actor: AuditedActor, { action, accountId }: AuditEvent): Pool | undefined {
  if (actor.kind !== 'user' || actor.role !== 'customer' || accountId !== actor.userId) return undefined
  if (/^(site|deployment|subscription|ssh_key)\./.test(action)) return 'resources'
  if (REPEATABLE.has(action)) return 'password'
  return action.startsWith('api_key.') || action.startsWith('session.') ? 'credentials' : undefined
}
