/** Makes a backup in a thread of its own, without flooding the disk under a running panel. */
import { closeSync, fdatasync, openSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { dataNames } from '../data-directory.ts'
import { backupName } from './catalogue.ts'
import { unfinishedDatabase } from './create.ts'
import { untold } from './progress.ts'
import type { BackupJob, WorkerAnswer } from './worker.ts'

const settle = promisify(fdatasync)
const SETTLE_MS = 5

/**
 * @param thread where `worker.ts` is
 * @param tell called with the database that is being copied, which may end a little smaller than it is now
 * @throws Error as `createBackup` does
 */
export async function runBackup(
  thread: URL,
  options: BackupJob,
  tell = untold,
): Promise<{ name: string; bytes: number }> {
  const worker = new Worker(thread, { smol: true })
  const file = unfinishedDatabase(options)
  try {
    const answering = new Promise<WorkerAnswer>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<WorkerAnswer>) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      worker.postMessage(options)
    })
    const totalBytes = sizeOf(join(options.data, dataNames.database))
    await settleUntil(answering, file, () => tell('Copying the database', sizeOf(file), totalBytes))
    const answer = await answering
    if ('failure' in answer) throw new Error(answer.failure)
    return answer
  } catch (error) {
    if (error instanceof UnsettledError) {
      // Of the thread, which is ended on the way and clears nothing away. It may have given the backup its name by now.
      for (const path of [dirname(file), join(options.directory, backupName(options.nowMs))]) {
        rmSync(path, { recursive: true, force: true })
      }
    }
    throw error
  } finally {
    worker.terminate()
  }
}

/** What was written of the backup did not get to the disk. The system tells that once: the thread's own sync would succeed. */
class UnsettledError extends Error {}

/**
 * Has a growing file written to the disk bit by bit. The system would collect hundreds of megabytes, and a commit of the panel
 * would wait behind all of them.
 */
async function settleUntil(answering: Promise<unknown>, path: string, onTurn: () => void): Promise<void> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  answering.then(over, over)
  while (!isOver) {
    await settleOnce(path)
    onTurn()
    await Bun.sleep(SETTLE_MS)
  }
}

async function settleOnce(path: string): Promise<void> {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    // Not there yet, or whole by now and renamed.
    return
  }
  try {
    await settle(file)
  } catch (cause) {
    throw new UnsettledError(`the backup could not be written to the disk: ${(cause as Error).message}`, { cause })
  } finally {
    closeSync(file)
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
