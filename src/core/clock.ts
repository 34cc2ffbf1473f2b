/** The time source. It is passed in everywhere, so that a test can set it and never has to sleep. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }
