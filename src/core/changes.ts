/** What a request asks to change of a resource: the values that differ from what is there, and no others. */

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
