/** Compresses files once and remembers the results, within bounds of memory and CPU. */
import { type Coding, compress } from '../http/content-coding.ts'

/** Smaller files gain nothing on the wire; larger ones cost too much CPU for one GET. */
export const MIN_COMPRESSED_BYTES = 1024
export const MAX_COMPRESSED_BYTES = 2 * 1024 * 1024
/** For all sites together. The least recently used result goes first. */
const MAX_REMEMBERED_BYTES = 32 * 1024 * 1024
/** At a time: other work needs the runtime's threads too. */
const MAX_RUNNING = 2

export type CompressedFiles = ReturnType<typeof createCompressedFiles>

export function createCompressedFiles() {
  /** By entity tag, which identifies content and coding; the most recently used is last. */
  const remembered = new Map<string, Uint8Array>()
  const running = new Map<string, Promise<Uint8Array>>()
  let rememberedBytes = 0

  function remember(tag: string, bytes: Uint8Array): void {
    remembered.set(tag, bytes)
    rememberedBytes += bytes.length
    for (const [oldest, { length }] of remembered) {
      if (rememberedBytes <= MAX_REMEMBERED_BYTES) break
      remembered.delete(oldest)
      rememberedBytes -= length
    }
  }

  async function run(tag: string, content: Uint8Array, coding: Coding): Promise<Uint8Array> {
    try {
      const bytes = await compress(content, coding)
      remember(tag, bytes)
      return bytes
    } finally {
      running.delete(tag)
    }
  }

  return {
    /**
     * @param tag the entity tag of the compressed representation
     * @param read called if there is no result yet
     * @returns undefined when enough files are being compressed already, and this one should be sent as it is
     */
    get(tag: string, coding: Coding, read: () => Uint8Array): Uint8Array | Promise<Uint8Array> | undefined {
      const known = remembered.get(tag)
      if (known) {
        remembered.delete(tag)
        remembered.set(tag, known)
        return known
      }
      const begun = running.get(tag)
      if (begun || running.size >= MAX_RUNNING) return begun
      const result = run(tag, read(), coding)
      running.set(tag, result)
      return result
    },
  }
}
