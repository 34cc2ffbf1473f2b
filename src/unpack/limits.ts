/** How much an archive may become, counted while it is written. */
import { Refusal } from './refusal.ts'

export type Limits = {
  /** Of all files together, unpacked. */
  maxBytes: number
  /** Files, links and folders together. */
  maxFiles: number
  maxSeconds: number
}

/** The most that an archive has beside the contents of its files: headers, long names, padding. */
const OVERHEAD_BYTES_PER_FILE = 16 * 1024
const OVERHEAD_BYTES = 1024 * 1024

export type Budget = ReturnType<typeof createBudget>

export function createBudget({ maxBytes, maxFiles }: Limits) {
  const maxStreamBytes = maxBytes + maxFiles * OVERHEAD_BYTES_PER_FILE + OVERHEAD_BYTES
  let bytes = 0
  let files = 0
  let streamBytes = 0
  const tooManyBytes = () =>
    new Refusal('too_many_bytes', `unpacked, the archive has more than the ${maxBytes} bytes that are allowed`)

  return {
    get bytes() {
      return bytes
    },

    /** Before they are written. @throws Refusal */
    spendBytes(more: number): void {
      bytes += more
      if (bytes > maxBytes) throw tooManyBytes()
    },

    /** Before one is made. @throws Refusal */
    spendFile(): void {
      files += 1
      if (files > maxFiles) {
        throw new Refusal(
          'too_many_files',
          `the archive has more than the ${maxFiles} files and folders that are allowed`,
        )
      }
    },

    /** What comes out of the compression, whether or not it becomes a file. @throws Refusal */
    spendStream(more: number): void {
      streamBytes += more
      if (streamBytes > maxStreamBytes) throw tooManyBytes()
    },
  }
}
