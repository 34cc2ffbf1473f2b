/** What a site's status is: observed by its node, never set. */
import type { Failure } from '../../../node/protocol.ts'
import { NO_DRIVER, type ServedBy } from './serving.ts'

export const STATUSES = ['provisioning', 'active', 'suspended', 'disabled', 'failed', 'deleting'] as const

export type Status = (typeof STATUSES)[number]

type Observed = {
  isDeleting: boolean
  observed: 'serving' | 'suspended' | 'disabled' | 'failed' | null
  failure: string | null
}

/** The status, and why it is that one where a customer would ask. */
export function statusOf(
  site: Observed,
  { driver }: ServedBy,
): { status: Status; reason: string | null; failure: Failure | null } {
  if (site.isDeleting) return { status: 'deleting', reason: null, failure: null }
  // Whatever was observed before, nobody is there to serve it.
  if (driver === null) return { status: 'provisioning', reason: NO_DRIVER, failure: null }
  switch (site.observed) {
    case null:
      return { status: 'provisioning', reason: null, failure: null }
    case 'serving':
      return { status: 'active', reason: null, failure: null }
    case 'suspended':
      return { status: 'suspended', reason: 'The subscription is suspended', failure: null }
    case 'disabled':
      return { status: 'disabled', reason: 'The site is switched off; send enabled: true to serve it', failure: null }
    case 'failed': {
      const failure: Failure = JSON.parse(site.failure ?? '')
      return { status: 'failed', reason: failure.message, failure }
    }
  }
}
