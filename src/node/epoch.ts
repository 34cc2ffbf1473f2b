/** The epoch: random, and another one after each restore, so that nodes do not follow an older state unasked. */
import { existsSync } from 'node:fs'
import { newToken, writePrivateFile } from '../crypto/secret.ts'
import { readRegularFile } from '../system/regular-file.ts'

export type Epoch = () => string

/**
 * A file beside the database and in no backup: a restore sets it aside, and there is none in a new place.
 *
 * @returns a function that reads the epoch, and makes it where there is none
 */
export function createEpoch(path: string): Epoch {
  let epoch: string | undefined

  return () => {
    if (epoch === undefined) {
      if (!existsSync(path)) writePrivateFile(path, `${newToken()}\n`)
      epoch = readRegularFile(path).trim()
    }
    return epoch
  }
}
