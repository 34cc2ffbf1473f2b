/** How long the fuzzers run, and from which seed: a moment within the suite, or for hours on purpose. */

/** Seconds for each fuzzer; unset, each makes a fixed number of requests. */
const seconds = Number(process.env.NCP_FUZZ_SECONDS ?? 0)
/** Repeats a run, as far as a server with a state can. */
export const SEED = Number(process.env.NCP_FUZZ_SEED ?? crypto.getRandomValues(new Int32Array(1))[0])

/** Reports the first failure as it is: shrinking would take minutes, on a server whose state has changed since. */
export const AT_ONCE = { endOnFailure: true }

/** For the runner: far above what a run takes. */
export const TEST_TIMEOUT_MS = (seconds + 60) * 1000

/**
 * Runs once, or again and again with the next seed until the time is over. Prints the seed, so that anyone who sees a
 * failure can have it again.
 */
export async function fuzz(name: string, run: (seed: number) => Promise<void>): Promise<void> {
  process.stderr.write(`${name}: NCP_FUZZ_SEED=${SEED}\n`)
  const deadline = performance.now() + seconds * 1000
  let seed = SEED
  do {
    await run(seed)
    seed = (seed + 1) | 0
  } while (performance.now() < deadline)
  if (seconds > 0) process.stderr.write(`${name}: ${(seed - SEED) | 0} rounds, no failure\n`)
}
