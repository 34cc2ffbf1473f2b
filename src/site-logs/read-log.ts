/** Reads the last lines of a log, backwards, within a bounded amount of work. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '../core/error-code.ts'
import type { LogKind, LogRequest } from '../node/protocol.ts'
import { listLogFiles } from './log-files.ts'

/** What another program writes to, before it gets the name of its day. */
export const CURRENT_LOG = { php: 'php.log' } as const

const CHUNK_BYTES = 64 * 1024
/** A line that is longer is given in pieces. */
const MAX_LINE_BYTES = 16 * 1024
/** Looked through for one question. */
const MAX_READ_BYTES = 32 * 1024 * 1024
/** Given in one answer. */
const MAX_ANSWER_BYTES = 512 * 1024

/** A file that is only read, and never a link. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * @param directory of the site's logs
 * @returns the oldest of them first; fewer than wanted where they are long, or rare in a large log
 */
export async function readLog(
  directory: string,
  { kind, lines, search }: Pick<LogRequest, 'kind' | 'lines' | 'search'>,
): Promise<string[]> {
  const matches = matcherOf(kind, search)
  const found: string[] = []
  let answerBytes = 0
  const paths = (await listLogFiles(directory, kind)).map(({ path }) => path)
  if (kind === 'php') paths.unshift(join(directory, CURRENT_LOG.php))
  for await (const line of linesBackwards(paths)) {
    if (!matches(line)) continue
    answerBytes += line.length
    if (answerBytes > MAX_ANSWER_BYTES) break
    found.push(line)
    if (found.length === lines) break
  }
  return found.toReversed()
}

/** Of an access log, the values are searched and not the names of its fields. */
function matcherOf(kind: LogKind, search: string | null): (line: string) => boolean {
  if (search === null) return () => true
  const wanted = search.toLowerCase()
  if (kind !== 'access') return (line) => line.toLowerCase().includes(wanted)
  // What a line of JSON holds where the text holds a quote.
  const written = JSON.stringify(wanted).slice(1, -1)
  return (line) =>
    line.toLowerCase().includes(written) && valuesOf(line).some((value) => value.toLowerCase().includes(wanted))
}

function valuesOf(line: string): string[] {
  try {
    return Object.values(JSON.parse(line) as object).map((value) => `${value}`)
  } catch {
    return [line]
  }
}

/** @param paths of files, the newest first */
async function* linesBackwards(paths: string[]): AsyncGenerator<string> {
  let left = MAX_READ_BYTES
  for (const path of paths) {
    const file = await unlessMissing(open(path, READ))
    if (!file) continue
    try {
      for await (const line of linesOfFile(file)) {
        yield line
        left -= line.length + 1
        if (left <= 0) return
      }
    } finally {
      await file.close()
    }
  }
}

async function* linesOfFile(file: FileHandle): AsyncGenerator<string> {
  const stat = await file.stat()
  if (!stat.isFile()) return
  /** The beginning of a line whose start is yet to be read. */
  let rest: Buffer = Buffer.alloc(0)
  for (let end = stat.size; end > 0; ) {
    const start = Math.max(0, end - CHUNK_BYTES)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start)
    const bytes = Buffer.concat([buffer.subarray(0, bytesRead), rest])
    const isFirst = start === 0
    const firstBreak = isFirst ? -1 : bytes.indexOf(0x0a)
    end = start
    if (!isFirst && firstBreak === -1 && bytes.length < MAX_LINE_BYTES) {
      rest = bytes
      continue
    }
    rest = isFirst || firstBreak === -1 ? Buffer.alloc(0) : bytes.subarray(0, firstBreak)
    const whole = bytes
      .subarray(firstBreak + 1)
      .toString('utf8')
      .split('\n')
    for (const line of whole.toReversed()) if (line !== '') yield line
  }
}
