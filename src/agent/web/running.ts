/** Whether our own nginx runs, and as which process. */
import { existsSync, readFileSync } from 'node:fs'
import type { NodeLayout } from '../layout.ts'
import { titleOf } from '../processes.ts'

/** What follows is cut off where the environment was small: the path of the configuration proves nothing. */
const TITLE = 'nginx: master process '

/** Of its first process, as the file says that only root writes. */
export function webServerPid({ webPid }: Pick<NodeLayout, 'webPid'>): number | undefined {
  const pid = existsSync(webPid) ? Number(readFileSync(webPid, 'utf8')) : Number.NaN
  return Number.isSafeInteger(pid) && pid > 1 && titleOf(pid).startsWith(TITLE) ? pid : undefined
}
