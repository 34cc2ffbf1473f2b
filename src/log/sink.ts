/** Writes log lines to standard error or a file, at once or in batches, and never delays the panel's work. */
import { closeSync, openSync, writeSync } from 'node:fs'

const FLUSH_MS = 500
/** A batch, about. */
const BATCH_CHARACTERS = 32 * 1024
/** What is kept while nothing can be written, such as on a full disk. Beyond that it is given up. */
const MOST_WAITING_CHARACTERS = 1024 * 1024
const STANDARD_ERROR = 2

export type LogSink = {
  /** Writes now, after what waits, so that lines stay in order. */
  write(text: string): void
  /** Writes within a second. A crash of the process can lose these lines, an orderly end cannot. */
  buffer(text: string): void
  /** Writes what waits. */
  flush(): void
  /** Reopens the file after it was rotated away. @throws Error when it cannot be opened */
  reopen(): void
}

/**
 * @param path a file to append to, made with mode 0600; undefined for standard error
 * @throws Error when the file cannot be opened
 */
export function openLogSink(path: string | undefined): LogSink {
  const open = () => (path === undefined ? STANDARD_ERROR : openSync(path, 'a', 0o600))
  let file = open()
  let waiting = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  /** Whether something could not be written, and is tried again once a second only. */
  let isStuck = false
  let isLossy = false

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (waiting === '') return
    const bytes = Buffer.from(waiting)
    waiting = bytes.toString('utf8', writeAll(file, bytes))
    isStuck = waiting !== ''
    if (isStuck) {
      if (waiting.length > MOST_WAITING_CHARACTERS) {
        waiting = ''
        isLossy = true
      }
      flushLater()
    } else if (isLossy) {
      isLossy = false
      buffer('{"level":"error","msg":"log lines were lost: nothing could be written for a while"}\n')
    }
  }

  function flushLater(): void {
    if (timer) return
    timer = setTimeout(flush, FLUSH_MS)
    // A command that has done its work ends, and writes what waits as it does.
    timer.unref()
  }

  function buffer(text: string): void {
    waiting += text
    if (waiting.length > (isStuck ? MOST_WAITING_CHARACTERS : BATCH_CHARACTERS)) flush()
    else flushLater()
  }

  return {
    flush,
    buffer,
    write(text) {
      waiting += text
      flush()
    },
    reopen() {
      if (path === undefined) return
      flush()
      const before = file
      file = open()
      closeSync(before)
    },
  }
}

/** @returns how many bytes were written: all, unless the reader is slow or gone, or the disk full */
function writeAll(file: number, bytes: Buffer): number {
  let written = 0
  try {
    while (written < bytes.length) written += writeSync(file, bytes, written)
  } catch (error) {
    // Nobody will ever read it.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return bytes.length
  }
  return written
}
