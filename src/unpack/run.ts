/** Unpacks an archive in a child process, this program again, and believes nothing that it says. */
import { Check } from '@sinclair/typebox/value'
import { printable, printableLines } from '../core/printable.ts'
import { PROGRAM } from '../threads.ts'
import type { Limits } from './limits.ts'
import { type FailureCode, type NotUnpacked, resultSchema, type Unpacked } from './result.ts'
import type { LinkRule } from './unpack.ts'

type RunOptions = {
  /** A descriptor, which the child reads from where it stands; it stays open here. */
  archive: number
  /** An empty directory. Its caller removes it if unpacking fails. */
  release: string
  limits: Limits
  links: LinkRule
  /** Kills the child. */
  signal?: AbortSignal
  /** What is started, with `unpack` and its flags. */
  program?: readonly [string, ...string[]]
}

/** `detail`: for the operator's log, where the child did not end as it should. */
export type RunResult = Unpacked | (NotUnpacked & { detail?: string })

/** The child stops by itself when its time is over; one that does not is killed this much later. */
const GRACE_MS = 2000
const MAX_OUTPUT_BYTES = 16 * 1024
const MAX_DETAIL_BYTES = 4 * 1024

/** @throws Error of the system where no process can be started */
export async function unpack({
  archive,
  release,
  limits,
  links,
  signal,
  program = PROGRAM,
}: RunOptions): Promise<RunResult> {
  if (signal?.aborted) return failure('aborted')
  const { maxBytes, maxFiles, maxSeconds } = limits
  const flags = [
    `--max-bytes=${maxBytes}`,
    `--max-files=${maxFiles}`,
    `--max-seconds=${maxSeconds}`,
    `--links=${links}`,
  ]
  const child = Bun.spawn([...program, 'unpack', ...flags], {
    cwd: release,
    env: {},
    stdin: archive,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let killedFor: FailureCode | undefined
  const kill = (reason: FailureCode) => {
    killedFor ??= reason
    child.kill('SIGKILL')
  }
  const onAbort = () => kill('aborted')
  signal?.addEventListener('abort', onAbort)
  const timer = setTimeout(() => kill('too_slow'), maxSeconds * 1000 + GRACE_MS)
  try {
    const [output, detail, exitCode] = await Promise.all([
      startOf(child.stdout, MAX_OUTPUT_BYTES, () => kill('unpack_failed')),
      startOf(child.stderr, MAX_DETAIL_BYTES),
      child.exited,
    ])
    if (killedFor !== undefined) return failure(killedFor, detail)
    return resultOf(output, exitCode, limits) ?? failure('unpack_failed', `exit code ${exitCode}: ${detail}`)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

const messages = {
  aborted: 'unpacking was cancelled',
  too_slow: 'unpacking took too long',
  unpack_failed: 'unpacking failed; the operator can find out why in the log of the panel',
} as const

function failure(code: FailureCode, detail?: string): RunResult {
  const message = messages[code as keyof typeof messages] ?? messages.unpack_failed
  return { ok: false, code, entry: null, line: null, message, ...(detail && { detail: printableLines(detail) }) }
}

/** @returns undefined unless the child printed one result, such as its limits allow, and ended as that says */
function resultOf(output: string, exitCode: number, { maxBytes, maxFiles }: Limits): RunResult | undefined {
  let value: unknown
  try {
    value = JSON.parse(output)
  } catch {
    return undefined
  }
  if (!Check(resultSchema, value) || value.ok !== (exitCode === 0)) return undefined
  if (value.ok) return value.bytes > maxBytes || value.files > maxFiles ? undefined : value
  return { ...value, entry: value.entry && printable(value.entry), message: printable(value.message) }
}

/**
 * Reads a stream to its end, so that its writer never waits.
 *
 * @param onMore called once there is more than that, and then it is closed
 * @returns its first bytes
 */
async function startOf(stream: ReadableStream<Uint8Array>, maxBytes: number, onMore?: () => void): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    if (length < maxBytes) chunks.push(chunk.subarray(0, maxBytes - length))
    length += chunk.length
    if (length <= maxBytes || !onMore) continue
    onMore()
    break
  }
  return Buffer.concat(chunks).toString()
}
