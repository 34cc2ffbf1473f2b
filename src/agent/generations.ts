/** What one generation of a site serves: a directory with links, made whole and never changed, to which names lead. */
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { NodeLayout } from './layout.ts'
import { linkTarget, namesIn } from './tree.ts'

export type Generation = {
  siteId: number
  number: number
  state: 'serving' | 'suspended' | 'disabled'
  /** Links in it, by name: `pub`, and `php` or `spa`, or the page that says why there is none. */
  links: Readonly<Record<string, string>>
}

/** Says to the agent which generation it is. */
const LABEL = 'generation'
const MODE = 0o750
const FILE_MODE = 0o640

export const nameOf = ({ siteId, number, state }: Generation): string =>
  `${siteId}.${number}${state === 'serving' ? '' : `-${state}`}`

/** @returns the site to which the name of a generation belongs */
export function siteOfGeneration(name: string): number | undefined {
  const [, siteId] = /^([1-9]\d*)\.[1-9]\d*(?:-[a-z]+)?$/.exec(name) ?? []
  return siteId === undefined ? undefined : Number(siteId)
}

export type Generations = ReturnType<typeof createGenerations>

export function createGenerations(layout: NodeLayout, webGid: number) {
  const staged = (name: string) => join(layout.staging, name)

  function write(path: string, generation: Generation): void {
    writeFileSync(path, nameOf(generation))
    chownSync(path, 0, webGid)
    chmodSync(path, FILE_MODE)
  }

  function make(generation: Generation): void {
    const unfinished = staged(`gen-${generation.siteId}`)
    rmSync(unfinished, { recursive: true, force: true })
    mkdirSync(unfinished)
    write(join(unfinished, LABEL), generation)
    for (const [name, target] of Object.entries(generation.links)) symlinkSync(target, join(unfinished, name))
    chownSync(unfinished, 0, webGid)
    chmodSync(unfinished, MODE)
    renameSync(unfinished, join(layout.generations, nameOf(generation)))
  }

  /** Each entry by a rename, since the directory is being served. @returns what was not as it had been left */
  function mend(path: string, generation: Generation): string[] {
    const mended: string[] = []
    const wanted = new Set([LABEL, ...Object.keys(generation.links)])
    for (const name of namesIn(path).filter((name) => !wanted.has(name))) {
      rmSync(join(path, name), { recursive: true })
      mended.push(join(path, name))
    }
    for (const [name, target] of Object.entries(generation.links)) {
      const link = join(path, name)
      if (linkTarget(link) === target) continue
      const made = staged(`link-${generation.siteId}`)
      rmSync(made, { force: true })
      symlinkSync(target, made)
      replace(made, link)
      mended.push(link)
    }
    const label = join(path, LABEL)
    const found = lstatSync(label, { throwIfNoEntry: false })
    const isRight =
      found?.isFile() &&
      found.gid === webGid &&
      found.mode % 0o10000 === FILE_MODE &&
      readFileSync(label, 'utf8') === nameOf(generation)
    if (!isRight) {
      const made = staged(`label-${generation.siteId}`)
      write(made, generation)
      replace(made, label)
      mended.push(label)
    }
    return mended
  }

  return {
    /** @returns what was not as it had been left */
    ensure(generation: Generation): string[] {
      const path = join(layout.generations, nameOf(generation))
      const found = lstatSync(path, { throwIfNoEntry: false })
      if (found && !found.isDirectory()) throw new Error(`${path} is no directory`)
      if (!found) {
        make(generation)
        return []
      }
      const hasAccess = found.uid === 0 && found.gid === webGid && found.mode % 0o10000 === MODE
      if (!hasAccess) {
        chownSync(path, 0, webGid)
        chmodSync(path, MODE)
      }
      return [...(hasAccess ? [] : [path]), ...mend(path, generation)]
    },

    names: () => namesIn(layout.generations),

    remove: (name: string) => rmSync(join(layout.generations, name), { recursive: true, force: true }),
  }
}

/** A rename cannot put a file in the place of a directory. */
function replace(made: string, path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) rmSync(path, { recursive: true })
  renameSync(made, path)
}
