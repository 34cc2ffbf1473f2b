/** The thread that makes one backup: reading a whole database takes seconds, which no request should wait for. */
import { giveWay } from '../system/thread-priority.ts'
import { type CreateBackupOptions, createBackup } from './create.ts'

export type WorkerAnswer = { name: string; bytes: number } | { failure: string }

export type BackupJob = CreateBackupOptions & {
  /** Whether the thread gives way to the one that answers requests. */
  givesWay: boolean
}

declare const self: Worker

self.onmessage = async ({ data }: MessageEvent<BackupJob>) => {
  if (data.givesWay) giveWay()
  let answer: WorkerAnswer
  try {
    const { name, bytes } = await createBackup(data)
    answer = { name, bytes }
  } catch (error) {
    answer = { failure: (error as Error).message }
  }
  self.postMessage(answer)
}
