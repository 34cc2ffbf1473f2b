/** Makes a backup in a thread of its own, beside a panel that serves. */
import type { CreateBackupOptions } from './create.ts'
import type { WorkerAnswer } from './worker.ts'

/**
 * @param thread where `worker.ts` is
 * @throws Error as `createBackup` does
 */
export async function runBackup(thread: URL, options: CreateBackupOptions): Promise<{ name: string; bytes: number }> {
  const worker = new Worker(thread)
  try {
    const answer = await new Promise<WorkerAnswer>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<WorkerAnswer>) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      worker.postMessage(options)
    })
    if ('failure' in answer) throw new Error(answer.failure)
    return answer
  } finally {
    worker.terminate()
  }
}
