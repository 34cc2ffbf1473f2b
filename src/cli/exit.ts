/** Exit codes, documented in docs/operations/commands.md. */
export const exitCode = { done: 0, failed: 1, usage: 2, configuration: 3, disk: 4 } as const
