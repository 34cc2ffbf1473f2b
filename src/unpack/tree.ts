/** The paths that a release has by now, to refuse an entry that would change or go through an earlier one. */
import { Refusal } from './refusal.ts'

/** An `implied` folder has been made for what is in it, and its own entry may follow. */
type Kind = 'file' | 'link' | 'directory' | 'implied'

export type Tree = ReturnType<typeof createTree>

export function createTree() {
  const known = new Map<string, { path: string; kind: Kind }>()

  /** @throws Refusal where the path is there under another spelling */
  function find(path: string): Kind | undefined {
    const found = known.get(folded(path))
    if (found !== undefined && found.path !== path) {
      throw new Refusal(
        'name_taken',
        `the name differs from that of an earlier entry, ${found.path}, only in its case or Unicode form`,
      )
    }
    return found?.kind
  }

  return {
    /**
     * Adds an entry, and the folders that lead to it.
     *
     * @returns the folders that are not there yet, from the top; that of a directory itself is among them
     * @throws Refusal
     */
    add(parts: readonly string[], kind: 'file' | 'link' | 'directory'): string[] {
      const missing: string[] = []
      for (let depth = 1; depth < parts.length; depth++) {
        const path = parts.slice(0, depth).join('/')
        const found = find(path)
        if (found === 'file' || found === 'link') {
          throw new Refusal('name_taken', `an earlier entry, ${path}, is a ${found} and not a folder`)
        }
        if (found !== undefined) continue
        known.set(folded(path), { path, kind: 'implied' })
        missing.push(path)
      }
      const path = parts.join('/')
      const found = find(path)
      if (found !== undefined && !(kind === 'directory' && found === 'implied')) {
        throw new Refusal('name_taken', 'the archive has an earlier entry of this name')
      }
      known.set(folded(path), { path, kind })
      if (kind === 'directory' && found === undefined) missing.push(path)
      return missing
    },

    /** Whether an earlier entry is a regular file of exactly this name. */
    hasFile(parts: readonly string[]): boolean {
      const path = parts.join('/')
      const found = known.get(folded(path))
      return found?.kind === 'file' && found.path === path
    },
  }
}

/** Equal for names that a person, or a file system that ignores case, takes for the same. */
const folded = (path: string): string => path.normalize('NFC').toLowerCase().normalize('NFC')
