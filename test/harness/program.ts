/** The end and the output of programs that tests start, never waited for without a limit. */
import type { Subprocess } from 'bun'
import { DEADLINE_MS, until } from './until.ts'

export type Output = { exitCode: number; stdout: string; stderr: string }

/**
 * Waits for a program's end, and for what it writes.
 *
 * @param what what it is, for the message
 * @param deadlineMs after which it is killed
 * @throws Error with what it has written, when it has not ended by then, or when a program that it started still holds
 * its output
 */
export async function outputOf(
  child: Subprocess<Bun.Spawn.Writable, 'pipe', 'pipe' | 'inherit' | 'ignore' | null | undefined>,
  what: string,
  deadlineMs = DEADLINE_MS,
): Promise<Output> {
  const stdout = read(child.stdout)
  const stderr = read(child.stderr ?? new Response('').body)
  const late = Promise.withResolvers<false>()
  const timer = setTimeout(() => late.resolve(false), deadlineMs)
  const end = Promise.all([child.exited, stdout.end, stderr.end])
  const hasEnded = await Promise.race([end.then(() => true), late.promise])
  clearTimeout(timer)
  if (!hasEnded) {
    const reason = child.exitCode === null ? 'it did not end' : 'a program that it started holds its output'
    child.kill('SIGKILL')
    throw new Error(`gave up waiting for ${what} after ${deadlineMs} ms: ${reason}. ${stdout.text()}${stderr.text()}`)
  }
  return { exitCode: await child.exited, stdout: stdout.text(), stderr: stderr.text() }
}

/** Waits for a program's end. @returns its exit code @throws Error when that takes too long: then it is killed */
export async function ended(child: Subprocess, what: string): Promise<number> {
  try {
    await until(`the end of ${what}`, () => child.exitCode !== null || child.signalCode !== null)
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  return child.exited
}

/** Asks a program to end, and waits for that. @returns its exit code @throws Error as `ended` does */
export function stopped(child: Subprocess, what: string): Promise<number> {
  child.kill('SIGTERM')
  return ended(child, what)
}

/** @returns what the stream has given up to now */
export const collect = (stream: ReadableStream<Uint8Array>): (() => string) => read(stream).text

function read(stream: ReadableStream<Uint8Array> | null) {
  let text = ''
  const decoder = new TextDecoder()
  const reading = async () => {
    for await (const chunk of stream ?? []) text += decoder.decode(chunk, { stream: true })
  }
  return { text: () => text, end: reading().catch(() => undefined) }
}
