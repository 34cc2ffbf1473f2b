/** The native code of every kind of machine that a program is made for, of which the machine that makes it has its own alone. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BunPlugin } from 'bun'
import type { Target } from './compile.ts'

const DIRECTORY = 'dist/addons'
const PLATFORMS: Record<Target, string> = {
  'linux-x64': 'linux-x64-gnu',
  'linux-arm64': 'linux-arm64-gnu',
  'linux-x64-musl': 'linux-x64-musl',
  'linux-arm64-musl': 'linux-arm64-musl',
}

/**
 * Puts the packages of all targets beside each other, as the lock file pins them.
 *
 * @throws Error with what the package manager says, also when the lock file and the manifest disagree
 */
export function installAddons(): void {
  mkdirSync(DIRECTORY, { recursive: true })
  for (const file of ['package.json', 'bun.lock']) copyFileSync(file, join(DIRECTORY, file))
  const which = ['--production', '--omit=peer', '--os=linux', '--cpu=x64', '--cpu=arm64', '--libc=*']
  const { exitCode, stderr } = Bun.spawnSync(
    [process.execPath, 'install', '--frozen-lockfile', '--ignore-scripts', ...which],
    { cwd: DIRECTORY, stdout: 'ignore', stderr: 'pipe' },
  )
  if (exitCode !== 0) throw new Error(`The packages of other machines can't be installed: ${stderr}`)
}

/** @returns the path of the native code for argon2. It is there after `installAddons` */
export function argon2AddonOf(target: Target): string {
  const platform = PLATFORMS[target]
  return resolve(DIRECTORY, `node_modules/@node-rs/argon2-${platform}/argon2.${platform}.node`)
}

/**
 * Gives the program the addon of its target. The package's own loader would ask the machine that it runs on for its libc, by
 * files and commands that differ there, and would find what is installed here.
 */
export function addonsOf(target: Target): BunPlugin {
  return {
    name: 'addons',
    setup({ onLoad }) {
      onLoad({ filter: /\/node_modules\/@node-rs\/argon2\/index\.js$/ }, () => ({
        loader: 'js',
        // By name: the file itself, or what merely passes it on, has only a default export.
        contents: `export const { hash, verify } = require(${JSON.stringify(argon2AddonOf(target))})`,
      }))
    },
  }
}
