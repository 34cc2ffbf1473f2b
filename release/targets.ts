/** The kinds of machine that a release has a program for. */

/** `musl` is for Alpine and its like. */
export const TARGETS = ['linux-x64', 'linux-arm64', 'linux-x64-musl', 'linux-arm64-musl'] as const
export type Target = (typeof TARGETS)[number]
