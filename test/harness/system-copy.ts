/** A copy of this machine's files for tests that change them as root does: what they write is gone with the copy. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../src/cli/run.ts'
import { canMount } from './faults.ts'

/** Root with mounts, and a kernel that lays one file system over another. */
export const canCopySystem = canMount && tryCopy()

function tryCopy(): boolean {
  try {
    copySystem().remove()
    return true
  } catch {
    return false
  }
}

/** Remove the copy: its mounts would stay until the machine restarts. */
export function copySystem() {
  const workshop = mkdtempSync(join(tmpdir(), 'ncp-system-'))
  const root = join(workshop, 'root')
  const remove = (): void => {
    // Lazily: a program that a test left running must not keep the mounts.
    run(['umount', '--lazy', '--recursive', workshop])
    rmSync(workshop, { recursive: true })
  }
  run(['mount', '-t', 'tmpfs', 'tmpfs', workshop])
  try {
    for (const directory of ['root', 'changes', 'work']) mkdirSync(join(workshop, directory))
    const layers = `lowerdir=/,upperdir=${join(workshop, 'changes')},workdir=${join(workshop, 'work')}`
    run(['mount', '-t', 'overlay', '-o', layers, 'overlay', root])
    for (const directory of ['dev', 'proc']) run(['mount', '--bind', `/${directory}`, join(root, directory)])
  } catch (error) {
    remove()
    throw error
  }
  return {
    path: (...names: string[]) => join(root, ...names),
    /** Runs a command as root of the copy. @returns what it printed */
    run: (...command: string[]) => run(['chroot', root, ...command]),
    remove,
  }
}
