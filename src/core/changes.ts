/** The changes that a request makes to a resource: only the values that differ. */

/**
 * The same values are a change of nothing, which is made without a trace: no new time on the resource, no audit entry, no
 * email.
 */
export function differences<Changes extends object>(
  present: { [Key in keyof Changes]?: unknown },
  changes: Changes,
): Changes {
  const differing = Object.entries(changes).filter(([name, value]) => value !== present[name as keyof Changes])
  return Object.fromEntries(differing) as Changes
}

export function changesNothing(changes: object): boolean {
  return Object.keys(changes).length === 0
}
