/** Settings of the kernel without which a link or a hard link of a customer could mislead a program of root. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownFile } from './file.ts'
import { runProgram } from './program.ts'
import type { Step } from './step.ts'

/** The least value of each. */
export const KERNEL_SETTINGS: Readonly<Record<string, number>> = {
  'fs.protected_fifos': 1,
  'fs.protected_hardlinks': 1,
  'fs.protected_regular': 1,
  'fs.protected_symlinks': 1,
}

const PATH = '/etc/sysctl.d/60-ncp.conf'

const currentValueOf = (name: string): number =>
  Number(readFileSync(join('/proc/sys', name.replaceAll('.', '/')), 'utf8'))

/** @returns the settings that are too low now */
export const lowKernelSettings = (): string[] =>
  Object.entries(KERNEL_SETTINGS)
    .filter(([name, least]) => currentValueOf(name) < least)
    .map(([name]) => name)

export function kernel(): Step {
  const file = ownFile({
    path: PATH,
    text: () =>
      `# Made by 'ncp node setup', which replaces it.\n${Object.entries(KERNEL_SETTINGS)
        // A higher value of the system's stays.
        .map(([name, least]) => `${name} = ${Math.max(least, currentValueOf(name))}\n`)
        .join('')}`,
  })
  return {
    ...file,
    look: () => [...file.look(), ...lowKernelSettings().map((name) => ({ what: name, state: 'todo' as const }))],
    apply() {
      file.apply()
      // In a container this is the host's to do, and the doctor says so.
      if (lowKernelSettings().length > 0) runProgram('sysctl', '--quiet', '--load', PATH)
    },
  }
}
