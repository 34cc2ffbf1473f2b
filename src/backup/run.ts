/** Makes a backup in a thread of its own, beside a panel that serves, and without flooding the disk under it. */
import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { type CreateBackupOptions, unfinishedDatabase } from './create.ts'
import type { WorkerAnswer } from './worker.ts'

const settle = promisify(fdatasync)
const SETTLE_MS = 5

/**
 * @param thread where `worker.ts` is
 * @throws Error as `createBackup` does
 */
export async function runBackup(thread: URL, options: CreateBackupOptions): Promise<{ name: string; bytes: number }> {
  const worker = new Worker(thread, { smol: true })
  try {
    const answering = new Promise<WorkerAnswer>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<WorkerAnswer>) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      worker.postMessage(options)
    })
    await settleUntil(answering, unfinishedDatabase(options))
    const answer = await answering
    if ('failure' in answer) throw new Error(answer.failure)
    return answer
  } finally {
    worker.terminate()
  }
}

/**
 * Has a growing file written to the disk bit by bit. The system would collect hundreds of megabytes, and a commit of the panel
 * would wait behind all of them.
 */
async function settleUntil(answering: Promise<unknown>, path: string): Promise<void> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  answering.then(over, over)
  while (!isOver) {
    await settleOnce(path)
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
  } catch {
    // The thread syncs the whole file at its end, and tells what is wrong with the disk.
  } finally {
    closeSync(file)
  }
}
