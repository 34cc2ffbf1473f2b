/** Tells the operator at the start that the panel will soon be out of room, or is already. */
import type { Log } from '../log/log.ts'
import { diskSpace } from '../system/disk-space.ts'

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
