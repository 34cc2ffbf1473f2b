/** When to move the log into the database file. */

/** SQLite's own default, in pages. */
export const CHECKPOINT_PAGES = 1000

export type CheckpointPace = {
  isDue(): boolean
  /** Records a checkpoint, however much it could move. */
  done(): void
}

/** @param backlog pages in the log that are not in the database file yet */
export function createCheckpointPace(backlog: () => number): CheckpointPace {
  /** Pages that the last one had to leave because a reader needed older ones; it is not retried at every commit. */
  let left = 0
  return {
    isDue: () => backlog() - left >= CHECKPOINT_PAGES,
    done() {
      left = backlog()
    },
  }
}
