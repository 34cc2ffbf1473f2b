/** A counting semaphore with a bounded queue. */
import { AppError } from './errors.ts'

export type Semaphore = {
  /**
   * Does `work` once one of the permits is free.
   *
   * @throws AppError `unavailable` when the queue is full
   */
  run<T>(work: () => Promise<T>): Promise<T>
}

/**
 * @param permits how many do their work at one time
 * @param maxWaiting how many may wait
 */
export function createSemaphore(permits: number, maxWaiting: number): Semaphore {
  const waiting: (() => void)[] = []
  let free = permits

  function release(): void {
    const next = waiting.shift()
    if (next) next()
    else free++
  }

  return {
    async run(work) {
      if (free > 0) free--
      else {
        if (waiting.length >= maxWaiting) throw new AppError('unavailable', undefined, { 'retry-after': '2' })
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}
