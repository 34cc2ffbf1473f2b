/** A file that the set-up of a node writes, and that is nobody else's. */
import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Step } from './step.ts'

export type OwnFile = {
  path: string
  text: () => string
  mode?: number
  /**
   * Called once the new text is in its place; what was there before comes back if it throws.
   *
   * @throws Error that says what is wrong with it
   */
  test?: () => void
  /** Called after a change, also after the file is removed. */
  changed?: () => void
}

export function ownFile({ path, text, mode = 0o644, test, changed }: OwnFile): Step {
  const current = () => (lstatSync(path, { throwIfNoEntry: false }) ? readFileSync(path, 'utf8') : undefined)

  return {
    look: () => [{ what: path, state: current() === text() ? 'done' : 'todo' }],

    apply() {
      const before = current()
      write(path, text(), mode)
      try {
        test?.()
      } catch (error) {
        if (before === undefined) rmSync(path)
        else write(path, before, mode)
        throw error
      }
      changed?.()
    },

    undo() {
      if (current() === undefined) return []
      rmSync(path)
      changed?.()
      return []
    },
  }
}

/** By one rename: a crash leaves the old file or the new one. */
function write(path: string, text: string, mode: number): void {
  // Not of a name that the reader of such a directory would take for one of its files.
  const made = `${path}.ncp-new`
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(made, text, { mode })
  chmodSync(made, mode)
  renameSync(made, path)
}
