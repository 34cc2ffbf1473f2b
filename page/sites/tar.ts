/** Packs files into a .tar.gz: the format is simple enough to write, and the browser compresses. */
import type { PathedFile } from './dropped-files.ts'

const BLOCK = 512
const encoder = new TextEncoder()

/** @returns a .tar.gz; the files are read one after the other, as it is made */
export async function pack(files: readonly PathedFile[]): Promise<Blob> {
  const parts: BlobPart[] = []
  for (const { path, file } of files) {
    const extended = encoder.encode(record('path', path))
    parts.push(header('pax', extended.length, 'x', 0), extended, padding(extended.length))
    parts.push(header(asciiOf(path), file.size, '0', file.lastModified), file, padding(file.size))
  }
  parts.push(new Uint8Array(2 * BLOCK))
  const packed = new Blob(parts).stream().pipeThrough(new CompressionStream('gzip'))
  return new Response(packed).blob()
}

/** The name for readers that do not know the extended header (POSIX.1-2001): a hundred plain characters. */
const asciiOf = (path: string) => path.replaceAll(/[^\x20-\x7e]/g, '_').slice(-100)

/** A record of an extended header, which begins with its own length in bytes. */
function record(key: string, value: string): string {
  const rest = encoder.encode(` ${key}=${value}\n`).length
  let length = rest + 1
  while (`${length}`.length + rest !== length) length = `${length}`.length + rest
  return `${length} ${key}=${value}\n`
}

/** @param time milliseconds since the epoch */
function header(name: string, size: number, type: string, time: number): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK)
  const put = (text: string, at: number) => block.set(encoder.encode(text), at)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length, '0')}\0`
  put(name, 0)
  put(octal(0o644, 7), 100)
  put(octal(0, 7), 108)
  put(octal(0, 7), 116)
  put(octal(size, 11), 124)
  put(octal(Math.floor(time / 1000), 11), 136)
  put(' '.repeat(8), 148)
  put(type, 156)
  put('ustar\x0000', 257)
  const sum = block.reduce((total, byte) => total + byte, 0)
  put(`${octal(sum, 6)} `, 148)
  return block
}

const padding = (size: number) => new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK)
