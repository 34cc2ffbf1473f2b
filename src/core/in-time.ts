/** Waits for something, but not for ever. */

/** @returns what a promise gives; undefined if it takes longer. @throws what the promise is rejected with in that time */
export async function inTime<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, ms, undefined)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
