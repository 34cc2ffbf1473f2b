/** What is known about a request once its response is made. */
import type { RejectionReason } from './rejection.ts'

export type ServedRequest = {
  requestId: string
  method: string
  /** The pattern of the path, such as `/api/v1/sites/:id`: what a client writes into a path is no business of a log. */
  route: string
  status: number
  /** Until the response was made, not until it was sent. */
  durationMs: number
  /** Null for a request without a valid credential. */
  userId: number | null
  credential: 'jwt' | 'api_key' | 'node' | 'none'
  /** Undefined for a request that no node sent. */
  nodeId: number | undefined
  /** Why a credential that was sent was not valid. */
  rejected: RejectionReason | undefined
  /** The client's address. */
  client: string
}
