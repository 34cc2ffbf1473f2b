/** What unpacking a deployment costs beside `tar -xz` of the same archive, in turns: `bun bench/unpack.ts`, after `bun run build`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { median } from './load.ts'

const FILES = 1000
const FILE_BYTES = 10 * 1024
const ROUNDS = 11

const program = resolve(import.meta.dir, '../dist/ncp')
const rules = ['--max-bytes=100000000', '--max-files=100000', '--max-seconds=300', '--links=refuse']
const contenders = {
  tar: ['/usr/bin/tar', '-xz'],
  ncp: [program, 'unpack', ...rules],
  /** It ends at once, since there is nothing to unpack. */
  start: [program, 'unpack', ...rules],
}

const directory = mkdtempSync(join(tmpdir(), 'ncp-bench-unpack-'))
try {
  const source = join(directory, 'source')
  mkdirSync(source)
  for (let file = 0; file < FILES; file++) {
    writeFileSync(join(source, `${file}.bin`), crypto.getRandomValues(new Uint8Array(FILE_BYTES)))
  }
  const archive = join(directory, 'site.tar.gz')
  Bun.spawnSync(['tar', '-czf', archive, '-C', source, '.'])

  const times: Record<string, { wallMs: number; cpuMs: number }[]> = { tar: [], ncp: [], start: [] }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, command] of Object.entries(contenders)) {
      times[name]?.push(run(command, name === 'start' ? '/dev/null' : archive))
    }
  }

  const { tar, ncp, start } = Object.fromEntries(
    Object.entries(times).map(([name, runs]) => [
      name,
      { wallMs: median(runs.map(({ wallMs }) => wallMs)), cpuMs: median(runs.map(({ cpuMs }) => cpuMs)) },
    ]),
  )
  if (!tar || !ncp || !start) throw new Error('nothing was measured')
  const row = (what: string, { wallMs, cpuMs }: typeof tar) =>
    `| ${what} | ${wallMs.toFixed(0)} | ${cpuMs.toFixed(0)} |`
  const lines = [
    `| ${FILES} files of ${FILE_BYTES / 1024} KB, the median of ${ROUNDS} rounds | ms | ms of CPU |`,
    '| --- | ---: | ---: |',
    row('`tar -xz`', tar),
    row('`ncp unpack`', ncp),
    row('of which it starts', start),
    '',
    `${(ncp.wallMs / tar.wallMs).toFixed(2)} times the time of tar, ${(ncp.cpuMs / tar.cpuMs).toFixed(2)} times its CPU.`,
    `1.5 times tar and 100 ms would be ${(1.5 * tar.wallMs + 100).toFixed(0)} ms.`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
} finally {
  rmSync(directory, { recursive: true })
}

function run(command: string[], input: string): { wallMs: number; cpuMs: number } {
  const release = join(directory, 'release')
  mkdirSync(release)
  const before = performance.now()
  const { resourceUsage } = Bun.spawnSync(command, { cwd: release, stdin: Bun.file(input), env: {} })
  const wallMs = performance.now() - before
  rmSync(release, { recursive: true })
  return { wallMs, cpuMs: Number(resourceUsage?.cpuTime.total ?? 0) / 1000 }
}
