/** Reports the progress of long work on a backup. */

/** @param step what is being done; `doneBytes` of `totalBytes` where that is known */
export type TellProgress = (step: string, doneBytes?: number, totalBytes?: number) => void

export const untold: TellProgress = () => undefined
