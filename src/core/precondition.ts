/** Preconditions: a change is made only to the version that the client has seen. */

/**
 * Looks at what is about to be changed or deleted, in the transaction that does it.
 *
 * @throws AppError `precondition_failed` when it is not what the client has seen
 */
export type Precondition<Present> = (present: Present) => void
