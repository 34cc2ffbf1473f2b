/** Writes log lines to standard error or a file, at once or in batches, and never delays the panel's work. */
import { closeSync, openSync, writeSync } from 'node:fs'

const FLUSH_MS = 500
/** Approximate size of a batch. */
const BATCH_CHARACTERS = 32 * 1024
/** The most that is kept while nothing can be written, for example on a full disk; beyond this it is dropped. */
const MOST_WAITING_CHARACTERS = 1024 * 1024
const STANDARD_ERROR = 2

export type LogSink = {
  /** Writes now, after any waiting lines, so that lines stay in order. */
  write(text: string): void
  /** Writes within a second. A crash can lose these lines, an orderly exit cannot. */
  buffer(text: string): void
  /** Writes the waiting lines. */
  flush(): void
  /** Reopens the file after log rotation. @throws Error when it cannot be opened */
  reopen(): void
}

/**
 * @param path a file to append to, created with mode 0600; undefined for standard error
 * @throws Error when the file cannot be opened
 */
export function openLogSink(path: string | undefined): LogSink {
  const open = () => (path === undefined ? STANDARD_ERROR : openSync(path, 'a', 0o600))
  let file = open()
  let waiting = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  /** Whether a write failed; it is then retried only twice a second. */
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
    // A finished command may exit: it writes the waiting lines as it does.
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

/** @returns how many bytes were written: all, unless the reader is slow or the disk is full */
function writeAll(file: number, bytes: Buffer): number {
  let written = 0
  try {
    while (written < bytes.length) written += writeSync(file, bytes, written)
  } catch (error) {
    // The reader is gone, so this would never be read.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return bytes.length
  }
  return written
}
