/** Exit codes, documented in docs/operations/commands.md. */
export const exitCode = {
  done: 0,
  failed: 1,
  usage: 2,
  configuration: 3,
  disk: 4,
  refused: 5,
  deploymentFailed: 6,
  unfinished: 7,
  unreachable: 8,
} as const

/** Of the commands of the client, by the kind of a `ClientFailure`. */
export const clientExitCodes = {
  configuration: exitCode.configuration,
  refused: exitCode.refused,
  failed: exitCode.deploymentFailed,
  unfinished: exitCode.unfinished,
  unreachable: exitCode.unreachable,
} as const
