/** What can go wrong beneath the database, by a name that every engine has. */

/**
 * What went wrong, whatever the engine:
 *
 * - `unique`: another row holds the value already
 * - `busy`: another process holds the lock
 * - `full`: there is no room on the disk
 * - `storage`: the database cannot be read or written
 */
export type FailureKind = 'unique' | 'busy' | 'full' | 'storage'
