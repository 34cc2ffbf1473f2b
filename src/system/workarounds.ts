/** The workarounds for what the runtime lacks: each has a plain fallback that a setting chooses instead, and a row in `README.md`. */

export const WORKAROUNDS = [
  'wal-index',
  'disk-thread',
  'port-handover',
  'thread-priority',
  'native-argon2',
  'notify',
  'clock-status',
] as const

export type Workaround = (typeof WORKAROUNDS)[number]

/** @param config.disableWorkarounds those that the operator turned off */
export function uses(config: { disableWorkarounds: readonly Workaround[] }, workaround: Workaround): boolean {
  return !config.disableWorkarounds.includes(workaround)
}
