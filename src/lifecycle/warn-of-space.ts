/** Warns the operator at startup when the disk is full or nearly so. */
import type { Log } from '../log/log.ts'
import { diskSpace } from '../system/disk-space.ts'

export async function warnOfSpace(directory: string, log: Log): Promise<void> {
  const { state, freeBytes } = await diskSpace(directory)
  if (state === 'enough') return
  log.warn(
    { directory, freeBytes },
    state === 'full'
      ? 'the disk of the data directory is full, so changes are refused; free some space'
      : 'the disk of the data directory is nearly full; free some space',
  )
}
