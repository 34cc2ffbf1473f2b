/** When the log is to be moved into the database file. */

/** SQLite's own measure, pages. */
export const CHECKPOINT_PAGES = 1000

export type CheckpointPace = {
  isDue(): boolean
  /** A checkpoint was made, whatever it could move. */
  done(): void
}

/** @param backlog pages in the log that are not in the database file yet */
export function createCheckpointPace(backlog: () => number): CheckpointPace {
  /** What the last one had to leave, because somebody was reading older pages: not to be tried at every commit. */
  let left = 0
  return {
    isDue: () => backlog() - left >= CHECKPOINT_PAGES,
    done() {
      left = backlog()
    },
  }
}
