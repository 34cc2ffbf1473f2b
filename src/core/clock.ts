/** The time source. It is passed in everywhere, so that a test can set it and never has to sleep. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Milliseconds of a clock that cannot be set; its zero means nothing. */
  elapsedMs(): number
}

export const systemClock: Clock = { now: () => Date.now(), elapsedMs: () => performance.now() }
