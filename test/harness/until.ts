/** Waits for what happens by itself, in this process or in another. */

/** Far above what any step takes: it ends a test that hangs and decides nothing else. */
export const DEADLINE_MS = 60_000

/** Waits until `condition` gives something. @throws Error when the deadline passes first */
export async function until<T>(
  what: string,
  condition: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadline = performance.now() + DEADLINE_MS
  for (;;) {
    const result = await condition()
    if (result !== undefined && result !== false) return result
    if (performance.now() > deadline) throw new Error(`gave up waiting for ${what} after ${DEADLINE_MS} ms`)
    await Bun.sleep(5)
  }
}
