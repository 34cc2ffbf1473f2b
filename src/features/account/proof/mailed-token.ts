/** The error for an emailed or activation token that is not valid. */
import type { UnauthenticatedClient } from '../../../core/actor.ts'
import { AppError } from '../../../core/errors.ts'
import type { Action } from '../../operation/audit/events.ts'
import type { Incidents } from '../../operation/audit/incidents.ts'

/** One error for a token that is unknown, used or expired, recorded as a failed proof. */
export function invalidToken(incidents: Incidents, client: UnauthenticatedClient, action: Action): AppError {
  incidents.failed(client, { action, accountId: null }, 'validation_error')
  return new AppError('validation_error', 'token: is unknown, expired or already used; ask for a new one')
}
