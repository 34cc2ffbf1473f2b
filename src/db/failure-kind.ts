/** What can go wrong in the database, under a name that suits every engine. */

/**
 * The kind of failure, whatever the engine:
 *
 * - `unique`: another row holds the value already
 * - `busy`: another process holds the lock
 * - `full`: the disk is full
 * - `storage`: the database cannot be read or written
 */
export type FailureKind = 'unique' | 'busy' | 'full' | 'storage'
