/** Whether there is room for another upload: few at a time, and only while the disk holds them all. */
import { AppError } from '../../../core/errors.ts'
import type { UploadLimits } from './limits.ts'

export type RoomOptions = {
  limits: Pick<UploadLimits, 'uploads' | 'uploadsPerSubscription' | 'freeBytes'>
  /** On the disk that archives are written to. */
  readFreeBytes(): Promise<number>
}

export type UploadRoom = ReturnType<typeof createUploadRoom>

/** After which a client may try again: an upload that has its place keeps it for seconds to minutes. */
const RETRY = { 'retry-after': '30' }

export function createUploadRoom({ limits, readFreeBytes }: RoomOptions) {
  const underWay = new Set<{ subscriptionId: number; length: number; done: Promise<unknown> }>()

  /** @throws AppError `rate_limited`, `unavailable` */
  function requirePlace(subscriptionId: number): void {
    const own = [...underWay].filter((other) => other.subscriptionId === subscriptionId)
    if (own.length >= limits.uploadsPerSubscription) {
      const most = `${limits.uploadsPerSubscription} uploads at a time`
      throw new AppError('rate_limited', `A subscription may have ${most}; try again when one has ended`, RETRY)
    }
    if (underWay.size < limits.uploads) return
    throw new AppError('unavailable', 'This server takes no more uploads at a time; try again later', RETRY)
  }

  /** @throws AppError `unavailable` */
  async function requireSpace(): Promise<void> {
    // What the others have yet to write counts as written.
    const wanted = [...underWay].reduce((sum, { length }) => sum + length * 1.1, limits.freeBytes)
    if ((await readFreeBytes()) >= wanted) return
    throw new AppError('unavailable', 'The disk of this server is too full for this archive; tell its operator', RETRY)
  }

  return {
    /**
     * Does `work` where there is room for an upload.
     *
     * @param length of the archive, in bytes
     * @throws AppError `rate_limited`, `unavailable`, and whatever `work` throws
     */
    async within<Result>(subscriptionId: number, length: number, work: () => Promise<Result>): Promise<Result> {
      requirePlace(subscriptionId)
      const { promise: done, resolve } = Promise.withResolvers<void>()
      const place = { subscriptionId, length, done }
      underWay.add(place)
      try {
        await requireSpace()
        return await work()
      } finally {
        underWay.delete(place)
        resolve()
      }
    },

    /** Resolves when no upload is under way. */
    async idle(): Promise<void> {
      await Promise.all([...underWay].map(({ done }) => done))
    },
  }
}
