/** Values that are available now or later. */

/**
 * What the hot path works with. A promise that is already settled still costs a request about as much as all of its
 * headers, so that a value that is there already is passed on as it is.
 */
export type Awaitable<Value> = Value | Promise<Value>

/** Goes on with a value, at once where it is there already. */
export function whenKnown<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}
