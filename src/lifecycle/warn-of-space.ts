/** Tells the operator at the start that the panel will soon be out of room, or is already. */

import { diskSpace } from '../features/operation/health/disk-space.ts'
import type { Log } from '../log/log.ts'

export async function warnOfSpace(directory: string, log: Log): Promise<void> {
  const { state, freeBytes } = await diskSpace(directory)
  if (state === 'enough') return
  log.warn(
    { directory, freeBytes },
    state === 'full'
      ? 'the disk of the data directory is full: changes will be refused; make room'
      : 'the disk of the data directory is nearly full; make room',
  )
}
