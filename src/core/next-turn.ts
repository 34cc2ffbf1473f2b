/** Yields to the event loop between two pieces of long work. */

/** Resolves after everything that is waiting now, other requests included: an `await` of a settled promise would let none in. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
