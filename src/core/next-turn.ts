/** Yields to the event loop between two pieces of long work. */

/** Resolves after what is waiting now, other requests included: an `await` of what is there already lets nobody in. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
