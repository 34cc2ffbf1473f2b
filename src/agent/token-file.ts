/** The file with the token of this node: root's alone, whole or not there at all. */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { sync } from '../system/sync.ts'

export type NodeToken = {
  token: string
  /** When the node received it, in milliseconds since the epoch; undefined for one that a person has put there. */
  since: number | undefined
}

const TOKEN = /^ncpn_[0-9a-f]{64}$/

export const isNodeToken = (text: string): boolean => TOKEN.test(text)

const OTHERS = 0o077

/** @throws Error that says what to do, and never what the file holds */
export function readTokenFile(path: string): NodeToken {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const stats = fstatSync(file)
    if ((stats.mode & OTHERS) !== 0) throw new Error(`others can read ${path}: run 'chmod 600 ${path}'`)
    const [token = '', since] = readFileSync(file, 'utf8').split('\n')
    if (!isNodeToken(token.trim())) {
      throw new Error(`${path} does not hold the token of a node: put there what 'ncp node add' has printed`)
    }
    const time = since ? Date.parse(since) : Number.NaN
    return { token: token.trim(), since: Number.isNaN(time) ? undefined : time }
  } finally {
    closeSync(file)
  }
}

/** Whole or not at all, and on the disk when it returns. */
export function writeTokenFile(path: string, { token, since }: NodeToken): void {
  const unfinished = `${path}.new`
  rmSync(unfinished, { force: true })
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const file = openSync(unfinished, flags, 0o600)
  try {
    writeSync(file, `${token}\n${since === undefined ? '' : `${new Date(since).toISOString()}\n`}`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(unfinished, path)
  sync(dirname(path))
}
