/** Writes the files and folders of a release, in the working directory, as new ones and never through a link. */
import { closeSync, constants, mkdirSync, openSync, readSync, writeSync } from 'node:fs'
import type { Budget } from './limits.ts'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants
const DIRECTORY_MODE = 0o755
const FILE_MODE = 0o644
const PROGRAM_MODE = 0o755
const COPY_BYTES = 64 * 1024

/** @throws Refusal, Error of the system */
export function makeDirectories(paths: readonly string[], budget: Budget): void {
  for (const path of paths) {
    budget.spendFile()
    mkdirSync(path, DIRECTORY_MODE)
  }
}

type NewFile = { path: string; executable: boolean; body: AsyncIterable<Uint8Array> }

/** @throws Refusal, Error of the system */
export async function writeFile({ path, executable, body }: NewFile, budget: Budget): Promise<void> {
  budget.spendFile()
  const file = openNew(path, executable)
  try {
    for await (const chunk of body) append(file, chunk, budget)
  } finally {
    closeSync(file)
  }
}

type Copy = { from: string; to: string; executable: boolean }

/** @throws Refusal, Error of the system */
export function copyFile({ from, to, executable }: Copy, budget: Budget): void {
  budget.spendFile()
  const source = openSync(from, O_RDONLY | O_NOFOLLOW)
  try {
    const file = openNew(to, executable)
    try {
      const chunk = new Uint8Array(COPY_BYTES)
      for (let length = readSync(source, chunk); length > 0; length = readSync(source, chunk)) {
        append(file, chunk.subarray(0, length), budget)
      }
    } finally {
      closeSync(file)
    }
  } finally {
    closeSync(source)
  }
}

const openNew = (path: string, executable: boolean): number =>
  openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, executable ? PROGRAM_MODE : FILE_MODE)

/** Waits for the disk: the process has nothing else to do, and a thread for each write would cost more. */
function append(file: number, chunk: Uint8Array, budget: Budget): void {
  budget.spendBytes(chunk.length)
  for (let written = 0; written < chunk.length; ) written += writeSync(file, chunk, written)
}
