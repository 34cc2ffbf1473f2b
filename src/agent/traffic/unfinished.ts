/** What an agent was about to append to the logs of sites: one that is killed meanwhile leaves half of it. */
import {
  closeSync,
  constants,
  ftruncateSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { codeOf } from '../../core/error-code.ts'
import type { Place } from './web-log.ts'

type Unfinished = Pick<Place, 'device' | 'inode' | 'offset'> & {
  /** Their sizes before. */
  files: { path: string; bytes: number }[]
}

const WRITE = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

export function createUnfinished(path: string) {
  return {
    /** @param paths of the files to which lines are appended next. @param place of the lines */
    begin({ device, inode, offset }: Place, paths: readonly string[]): void {
      const files = paths.map((file) => ({ path: file, bytes: lstatSync(file, { throwIfNoEntry: false })?.size ?? 0 }))
      writeFileSync(`${path}.new`, JSON.stringify({ device, inode, offset, files } satisfies Unfinished), {
        mode: 0o600,
      })
      renameSync(`${path}.new`, path)
    },

    /** When the place after the lines is saved. */
    end: (): void => rmSync(path, { force: true }),

    /** Takes back what another process has appended, and not saved. @param places up to where lines were saved */
    undo(places: readonly Place[]): void {
      const found = read(path)
      if (!found) return
      const saved = places.find(({ device, inode }) => device === found.device && inode === found.inode)
      if ((saved?.offset ?? 0) === found.offset) for (const file of found.files) cut(file)
      rmSync(path, { force: true })
    },
  }
}

/** Not synced, since it is for a kill: a power cut may leave anything. */
function read(path: string): Unfinished | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Unfinished
  } catch {
    return undefined
  }
}

function cut({ path, bytes }: { path: string; bytes: number }): void {
  const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size <= bytes) return
  const file = open(path)
  if (file === undefined) return
  try {
    ftruncateSync(file, bytes)
  } finally {
    closeSync(file)
  }
}

function open(path: string): number | undefined {
  try {
    return openSync(path, WRITE)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
