/** Exit codes, documented in the README. */
export const exitCode = { done: 0, failed: 1, usage: 2, configuration: 3 } as const
