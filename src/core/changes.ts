/** What a request asks to change of a resource: the values that it names, and no others. */

/** Such a change is made without a trace: no new time on the resource, no audit entry. */
export function changesNothing(changes: object): boolean {
  return Object.keys(changes).length === 0
}
