/** Unpacks archives with the compiled program, in a directory whose other files must not change. */
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { UnpackResult } from '../../src/unpack/result.ts'
import { install } from './binary.ts'
import { newDirectory } from './directory.ts'
import { outputOf } from './program.ts'
import { DEADLINE_MS } from './until.ts'

export type Unpacking = Awaited<ReturnType<typeof startUnpacking>>

type RunOptions = { links?: 'refuse' | 'inside'; maxBytes?: number; maxFiles?: number; maxSeconds?: number }

export async function startUnpacking() {
  const binary = await install()
  const home = newDirectory('ncp-unpack-')
  writeFileSync(join(home, 'beside'), 'as it was')
  const archivePath = join(home, 'archive')
  const release = join(home, 'release')

  let peakBytes = 0

  /** @param wrapper a program that runs the command after its own arguments */
  async function runOn(
    stdin: number | Blob | ReadableStream<Uint8Array>,
    options: RunOptions = {},
    wrapper: readonly string[] = [],
  ) {
    rmSync(release, { recursive: true, force: true })
    mkdirSync(release)
    const { links = 'refuse', maxBytes = 1e6, maxFiles = 1000, maxSeconds = 60 } = options
    const limits = [`--max-bytes=${maxBytes}`, `--max-files=${maxFiles}`, `--max-seconds=${maxSeconds}`]
    const child = Bun.spawn([...wrapper, binary.path('ncp'), 'unpack', ...limits, `--links=${links}`], {
      cwd: release,
      env: {},
      stdin,
      stdout: 'pipe',
      stderr: 'pipe',
    })
    peakBytes = 0
    const watch = setInterval(() => {
      peakBytes = peakBytesOf(child.pid) ?? peakBytes
    }, 2)
    // The unpacker's own limit comes first.
    const { stdout, stderr, exitCode } = await outputOf(child, 'ncp unpack', maxSeconds * 1000 + DEADLINE_MS).finally(
      () => clearInterval(watch),
    )
    if (!/^[^\n]+\n$/.test(stdout)) throw new Error(`not one line: ${stdout}${stderr}`)
    const result: UnpackResult = JSON.parse(stdout)
    if (result.ok !== (exitCode === 0) || stderr !== '')
      throw new Error(`exit code ${exitCode} with ${stdout}${stderr}`)
    // Whatever was in the archive.
    const around = readdirSync(home)
      .filter((name) => name !== 'archive')
      .sort()
    if (around.join() !== 'beside,release' || readFileSync(join(home, 'beside'), 'utf8') !== 'as it was') {
      throw new Error(`something outside of the release changed: ${around}`)
    }
    return result
  }

  return {
    home,
    release,
    archivePath,
    runOn,

    async run(archive: Uint8Array, options: RunOptions = {}, wrapper: readonly string[] = []): Promise<UnpackResult> {
      writeFileSync(archivePath, archive)
      const file = openSync(archivePath, 'r')
      try {
        return await runOn(file, options, wrapper)
      } finally {
        closeSync(file)
      }
    },

    /** The most memory that the last child had, as far as was seen: every two milliseconds. */
    peakBytes: () => peakBytes,

    /** The release as one text for each name: its kind, its mode and what is in it. */
    tree: (directory = release) => treeOf(directory),

    async remove(): Promise<void> {
      rmSync(home, { recursive: true, force: true })
      await binary.remove()
    },
  }
}

/** Of the program alone: its resource usage counts this process too, from which it was started. */
function peakBytesOf(pid: number): number | undefined {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
  } catch {
    // It has ended.
    return undefined
  }
}

export function treeOf(directory: string): Record<string, string> {
  const entries: [string, string][] = []
  // Bun's recursive reading of folders would follow links.
  const visit = (below: string): void => {
    for (const part of readdirSync(join(directory, below))) {
      const name = join(below, part)
      const path = join(directory, name)
      const found = lstatSync(path)
      const mode = (found.mode & 0o7777).toString(8)
      if (found.isSymbolicLink()) entries.push([name, `link ${readlinkSync(path)}`])
      else if (found.isDirectory()) {
        entries.push([name, `directory ${mode}`])
        visit(name)
      } else entries.push([name, `file ${mode} ${Bun.hash(readFileSync(path))}`])
    }
  }
  visit('')
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
}
