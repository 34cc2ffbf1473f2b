/** How far long work on a backup is, for people who wait for it. */

/** @param step what is being done; `doneBytes` of `totalBytes` where that is known */
export type TellProgress = (step: string, doneBytes?: number, totalBytes?: number) => void

export const untold: TellProgress = () => undefined
