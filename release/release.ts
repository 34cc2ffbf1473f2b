/** Makes all that is published of a version in `dist/release/`: programs, packages, bill of materials, checksums. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { installAddons } from './addons.ts'
import { compile } from './compile.ts'
import { buildDeb } from './deb.ts'
import { buildRpm } from './rpm.ts'
import { billOfMaterials, type Program } from './sbom.ts'
import { TARGETS, type Target } from './targets.ts'

const DIRECTORY = 'dist/release'
const RUNNABLE = 'dist/ncp'
const PACKAGES = [
  { target: 'linux-x64', debian: 'amd64', rpm: 'x86_64' },
  { target: 'linux-arm64', debian: 'arm64', rpm: 'aarch64' },
] as const

const fileOf = (target: Target) => join(DIRECTORY, `ncp-${manifest.version}-${target}`)
const say = (line: string) => process.stdout.write(`${line}\n`)

rmSync(DIRECTORY, { recursive: true, force: true })
mkdirSync(DIRECTORY, { recursive: true })
const time = timeOfCommit()

await compile(RUNNABLE)
installAddons()
const programs: Program[] = []
for (const target of TARGETS) {
  const path = fileOf(target)
  programs.push({ path, inputs: await compile(path, target) })
  say(path)
}
for (const { target, debian, rpm } of PACKAGES) {
  const options = { binary: fileOf(target), runnable: RUNNABLE, directory: DIRECTORY, time }
  say(buildDeb(options, debian))
  say(buildRpm(options, rpm))
}
writeFileSync(join(DIRECTORY, 'ncp.cdx.json'), `${billOfMaterials(programs, time * 1000)}\n`)
writeFileSync(join(DIRECTORY, 'SHA256SUMS'), sums())
say(join(DIRECTORY, 'SHA256SUMS'))

/** As `sha256sum --check` reads it. */
function sums(): string {
  return readdirSync(DIRECTORY)
    .sort()
    .map((name) => `${Bun.SHA256.hash(readFileSync(join(DIRECTORY, name)), 'hex')}  ${name}\n`)
    .join('')
}

/** Seconds since the epoch: nothing in a release depends on when it was made. */
function timeOfCommit(): number {
  const { stdout } = Bun.spawnSync(['git', 'log', '-1', '--format=%ct'])
  return Number(stdout.toString()) || 0
}
