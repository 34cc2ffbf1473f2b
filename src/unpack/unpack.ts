/** Unpacks one archive into the working directory, entry by entry, and stops at the first that breaks a rule. */
import { readdirSync, statSync } from 'node:fs'
import { entriesOf } from './archive.ts'
import type { Entry } from './entry.ts'
import { copyFile, makeDirectories, writeFile } from './files.ts'
import { createBudget, type Limits } from './limits.ts'
import { type Link, makeLinks, requireRelative } from './links.ts'
import { partsOf } from './name.ts'
import { notUnpacked, type Place, Refusal } from './refusal.ts'
import type { UnpackResult } from './result.ts'
import { createTree } from './tree.ts'

/** `inside`: symbolic links that stay in the release are made. */
export const linkRules = ['refuse', 'inside'] as const
export type LinkRule = (typeof linkRules)[number]

type UnpackOptions = {
  /** A descriptor, read from where it stands. */
  archive: number
  limits: Limits
  links: LinkRule
}

/**
 * Changes the process: its umask is gone. What it has written when it fails is left to its caller.
 *
 * @returns after `maxSeconds` too, even if the archive is still being read
 */
export async function unpackHere({ archive, limits, links }: UnpackOptions): Promise<UnpackResult> {
  // The modes of a release depend on the archive alone.
  process.umask(0)
  const unpacking = createUnpacking(limits, links)
  const { promise: deadline, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () =>
      reject(new Refusal('too_slow', `unpacking takes longer than the ${limits.maxSeconds} seconds that are allowed`)),
    limits.maxSeconds * 1000,
  )
  try {
    return await Promise.race([unpacking.run(archive), deadline])
  } catch (error) {
    return notUnpacked(error, unpacking.place)
  } finally {
    clearTimeout(timer)
  }
}

function createUnpacking(limits: Limits, linkRule: LinkRule) {
  const budget = createBudget(limits)
  const tree = createTree()
  const links: Link[] = []
  const base = Buffer.byteLength(process.cwd())
  let files = 0
  let line = 0
  let place: Place | undefined

  async function add(entry: Entry, at: Place): Promise<void> {
    if (entry.kind === 'refused') throw new Refusal(entry.code, entry.reason)
    const parts = partsOf(entry.name, base)
    const path = parts.join('/')
    if (parts.length === 0) {
      if (entry.kind !== 'directory') throw new Refusal('name_invalid', 'the name is that of the archive itself')
      return
    }
    if (entry.kind === 'directory') {
      makeDirectories(tree.add(parts, 'directory'), budget)
      return
    }
    files += 1
    if (entry.kind === 'file') {
      makeDirectories(tree.add(parts, 'file'), budget)
      await writeFile({ path, ...entry }, budget)
    } else if (entry.kind === 'hard-link') {
      const from = partsOf(entry.target, base)
      if (!tree.hasFile(from)) throw new Refusal('link_broken', 'the link leads to no earlier file of the archive')
      makeDirectories(tree.add(parts, 'file'), budget)
      copyFile({ from: from.join('/'), to: path, executable: entry.executable }, budget)
    } else {
      if (linkRule === 'refuse')
        throw new Refusal('link_refused', 'symbolic links are not allowed here; replace it with a file')
      requireRelative(parts, entry.target)
      makeDirectories(tree.add(parts, 'link'), budget)
      budget.spendFile()
      links.push({ path, target: entry.target, place: at })
    }
  }

  return {
    /** The entry that is read. */
    get place() {
      return place
    },

    /** @throws Refusal, Error of the system */
    async run(archive: number): Promise<UnpackResult> {
      if (readdirSync('.').length > 0) throw new Refusal('release_not_empty', 'the folder to unpack into is not empty')
      for await (const entry of entriesOf(archive, budget)) {
        line += 1
        place = { line, name: entry.name }
        await add(entry, place)
      }
      place = undefined
      if (files === 0) throw new Refusal('archive_empty', 'there is no file in the archive')
      makeLinks(links)
      const isPublic = statSync('public', { throwIfNoEntry: false })?.isDirectory() === true
      return { ok: true, files, bytes: budget.bytes, publicDir: isPublic ? 'public' : '' }
    },
  }
}
