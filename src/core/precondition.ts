/** Changes that are made only to what their client has seen. */

/**
 * Looks at what is about to be changed or deleted, in the transaction that does it.
 *
 * @throws AppError `precondition_failed` when it is not what the client has seen
 */
export type Precondition<Present> = (present: Present) => void
