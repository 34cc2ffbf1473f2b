/** The native code of every kind of machine that a program is made for, of which the machine that makes it has its own alone. */
import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { BunPlugin } from 'bun'
import { run } from '../src/cli/run.ts'
import type { Target } from './targets.ts'

const DIRECTORY = 'dist/addons'

/**
 * Puts the packages of all targets beside each other, as the lock file pins them.
 *
 * @throws Error with what the package manager says, also when the lock file and the manifest disagree
 */
export function installAddons(): void {
  rmSync(DIRECTORY, { recursive: true, force: true })
  mkdirSync(DIRECTORY, { recursive: true })
  for (const file of ['package.json', 'bun.lock']) copyFileSync(file, join(DIRECTORY, file))
  const which = ['--production', '--omit=peer', '--os=linux', '--cpu=x64', '--cpu=arm64', '--libc=*']
  run([process.execPath, 'install', '--frozen-lockfile', '--ignore-scripts', ...which], { cwd: DIRECTORY })
}

/**
 * Gives the program the addon of its target. The package's own loader would ask the machine that it runs on for its libc, by
 * files and commands that differ there, and would find what is installed here.
 */
export function addonsOf(target: Target): BunPlugin {
  const platform = target.endsWith('-musl') ? target : `${target}-gnu`
  const argon2 = resolve(DIRECTORY, `node_modules/@node-rs/argon2-${platform}/argon2.${platform}.node`)
  return {
    name: 'addons',
    setup({ onLoad }) {
      onLoad({ filter: /\/node_modules\/@node-rs\/argon2\/index\.js$/ }, () => ({
        loader: 'js',
        // By name: the file itself, or what merely passes it on, has only a default export.
        contents: `export const { hash, verify } = require(${JSON.stringify(argon2)})`,
      }))
    },
  }
}
