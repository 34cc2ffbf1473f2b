/** Closes several things, even when closing one of them fails. */

/**
 * @param steps in this order, one after the other
 * @throws what has failed: the error itself, or an AggregateError where there are several
 */
export async function closeAll(steps: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 1) throw new AggregateError(failures, 'several things could not be closed')
  if (failures.length === 1) throw failures[0]
}
