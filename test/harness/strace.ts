/** What a program asks of the kernel, one call after the other: to look at, or to end it between two of them. */
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { outputOf, stopped } from './program.ts'
import { workaroundEnvironment } from './workarounds.ts'

/** Some containers have it and don't let it. */
export const canTrace =
  Bun.which('strace') !== null && Bun.spawnSync(['strace', '-qq', '-o', '/dev/null', 'true']).exitCode === 0

/** A call that has changed something. */
export type Call = {
  name: string
  /** How many calls of that name the thread had made by then, this one included. */
  ordinal: number
  /** Its arguments as `strace` prints them: paths in quotes, an open file's in angle brackets. */
  args: string
}

type Traced = { exitCode: number | null; stdout: string; stderr: string }
type TraceOptions = { cwd: string; environment?: Record<string, string> }

/** What changes names or contents, or waits for the disk. */
const CHANGES =
  'rename,renameat,renameat2,mkdir,mkdirat,link,linkat,symlink,unlink,unlinkat,rmdir,fsync,fdatasync,ftruncate,copy_file_range'
const LINE = /^(\w+)\((.*)\) += (-?\d+)/

/** Runs a command, and tells which calls of its first thread changed something, in order. What it starts is not looked at. */
export async function traceChanges(command: string[], options: TraceOptions): Promise<Traced & { calls: Call[] }> {
  const output = join(tmpdir(), `ncp-strace-${crypto.randomUUID()}`)
  const traced = await strace(['-o', output, '-s', '4096', '-e', `trace=${CHANGES}`], command, options)
  const lines = readFileSync(output, 'utf8').split('\n')
  rmSync(output)
  const counts = new Map<string, number>()
  const calls = lines.flatMap((line) => {
    const [, name = '', args = '', result] = LINE.exec(line) ?? []
    const ordinal = (counts.get(name) ?? 0) + 1
    counts.set(name, ordinal)
    return result === undefined || result === '-1' ? [] : [{ name, ordinal, args }]
  })
  return { ...traced, calls }
}

/** Runs a command, and kills it (SIGKILL) when it is about to make a call that another run of it has made. */
export function killBefore({ name, ordinal }: Call, command: string[], options: TraceOptions): Promise<Traced> {
  const inject = ['-e', `trace=${name}`, '-e', `inject=${name}:signal=KILL:when=${ordinal}`]
  return strace(['-o', '/dev/null', ...inject], command, options)
}

/**
 * Lets every write of a running program to a file fail, as on a file system that has gone read-only: also to files that are open.
 *
 * @returns what ends it
 */
export async function refuseWrites(pid: number): Promise<() => Promise<void>> {
  const calls = 'pwrite64,ftruncate,fsync,fdatasync'
  return attach(pid, ['-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:error=EROFS`])
}

export type FailedSyncs = {
  /** A thread to which it is limited; all of the program otherwise. */
  thread?: number
  /** A file to which it is limited. */
  path?: string
  /** Which calls of a thread fail, as `strace` counts them: `1` for the first alone. All otherwise. */
  when?: string
  /** Each takes so long before it fails. */
  delayMs?: number
}

/**
 * Lets a running program's waiting for the disk fail, as when the disk could not write.
 *
 * @returns what ends it
 */
export async function failSyncs(pid: number, options: FailedSyncs = {}): Promise<() => Promise<void>> {
  const { thread, path, when, delayMs = 0 } = options
  const calls = 'fsync,fdatasync'
  const inject = [
    `inject=${calls}:error=EIO`,
    ...(when === undefined ? [] : [`when=${when}`]),
    ...(delayMs === 0 ? [] : [`delay_enter=${delayMs * 1000}`]),
  ]
  const toPath = path === undefined ? [] : ['-P', path]
  return attach(thread ?? pid, ['-o', '/dev/null', ...toPath, '-e', `trace=${calls}`, '-e', inject.join(':')], {
    isWhole: thread === undefined,
  })
}

/**
 * Lets each renaming of a running program's first thread take its time once it is done, so that a test can act in between.
 *
 * @returns what ends it
 */
export async function delayAfterRenames(pid: number, seconds: number): Promise<() => Promise<void>> {
  const calls = 'rename,renameat,renameat2'
  const inject = `inject=${calls}:delay_exit=${seconds * 1_000_000}`
  return attach(pid, ['-o', '/dev/null', '-e', `trace=${calls}`, '-e', inject], { isWhole: false })
}

/**
 * Watches the calls of a running program, all threads of it.
 *
 * @param calls names, joined by commas
 * @returns what ends it, and gives the lines, each with the thread that called: a call that takes its time is two of them
 */
export async function watchCalls(pid: number, calls: string): Promise<() => Promise<string[]>> {
  const output = join(tmpdir(), `ncp-strace-${crypto.randomUUID()}`)
  const detach = await attach(pid, ['-o', output, '-y', '-s', '64', '-e', `trace=${calls}`])
  return async () => {
    await detach()
    const lines = readFileSync(output, 'utf8').split('\n')
    rmSync(output)
    return lines
  }
}

/** @returns what ends it */
async function attach(pid: number, settings: string[], { isWhole = true } = {}): Promise<() => Promise<void>> {
  const child = Bun.spawn(['strace', ...(isWhole ? ['-f'] : []), ...settings, '-p', `${pid}`], {
    stdout: 'ignore',
    stderr: 'pipe',
  })
  let said = ''
  const attached = Promise.withResolvers<void>()
  // Read to the end: it reports every thread that starts, and would end if its output were not read.
  const listening = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      said += chunk
      if (said.includes('attached')) attached.resolve()
    }
    attached.resolve()
  })()
  await attached.promise
  if (child.exitCode !== null) throw new Error(`strace ended: ${said}`)
  return async () => {
    await stopped(child, 'strace')
    await listening
  }
}

async function strace(settings: string[], command: string[], { cwd, environment }: TraceOptions): Promise<Traced> {
  const child = Bun.spawn(['strace', '-qq', '-y', ...settings, ...command], {
    cwd,
    env: { PATH: '/usr/bin:/bin', NCP_CONFIG: '/dev/null', ...workaroundEnvironment, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const { stdout, stderr } = await outputOf(child, `strace of ${command.join(' ')}`)
  return { exitCode: child.exitCode, stdout, stderr }
}
