/** Why a command of the client failed: a pipeline reads the kind from the exit code, a person the message. */

/**
 * - `configuration`: no panel or no key is named, or what names them cannot be trusted
 * - `refused`: the panel says no; asking again changes nothing
 * - `failed`: the deployment failed, and what was served before still is
 * - `unfinished`: the time to wait is over, and the panel goes on
 * - `unreachable`: no answer, or one that says to try later
 */
export type FailureKind = 'configuration' | 'refused' | 'failed' | 'unfinished' | 'unreachable'

export class ClientFailure extends Error {
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string) {
    super(message)
    this.name = 'ClientFailure'
    this.kind = kind
  }
}
