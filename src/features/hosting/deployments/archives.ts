/** Uploaded archives on disk: written under a name of their own, and renamed to the id of their deployment. */
import { createHash, randomUUID } from 'node:crypto'
import { renameSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, unlessMissing } from '../../../core/error-code.ts'
import { AppError } from '../../../core/errors.ts'
import { syncAside } from '../../../system/sync.ts'
import { requireArchive, SNIFFED_BYTES } from './archive-type.ts'

export type Archive = {
  path: string
  /** In hex. */
  sha256: string
  bytes: number
}

export type Archives = ReturnType<typeof createArchives>

const UNFINISHED = /^\.upload-[0-9a-f-]{36}$/
const PLACED = /^[1-9]\d*$/

export function createArchives(directory: string) {
  /** Deployments whose row is being committed. */
  const placing = new Set<number>()
  const pathOf = (deploymentId: number) => join(directory, `${deploymentId}`)

  /** Writes an archive, and waits until it is on the disk. @throws AppError `validation_error`, and what `chunks` throws */
  async function write(file: FileHandle, chunks: AsyncIterable<Uint8Array>): Promise<Omit<Archive, 'path'>> {
    const hash = createHash('sha256')
    let head: Buffer = Buffer.alloc(0)
    let bytes = 0
    for await (const chunk of chunks) {
      if (head.length < SNIFFED_BYTES) {
        head = Buffer.concat([head, chunk.subarray(0, SNIFFED_BYTES - head.length)])
        if (head.length === SNIFFED_BYTES) requireArchive(head)
      }
      hash.update(chunk)
      bytes += chunk.length
      await file.writeFile(chunk)
    }
    requireArchive(head)
    await file.sync()
    return { sha256: hash.digest('hex'), bytes }
  }

  return {
    pathOf,

    /**
     * @throws AppError `validation_error` for what is no archive, `unavailable` when the disk is full, and whatever `chunks`
     * throws; nothing is left behind then
     */
    async receive(chunks: AsyncIterable<Uint8Array>): Promise<Archive> {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const path = join(directory, `.upload-${randomUUID()}`)
      const file = await open(path, 'wx', 0o600)
      try {
        const written = await write(file, chunks)
        return { path, ...written }
      } catch (error) {
        await rm(path, { force: true })
        throw isDiskFull(error) ? diskFull : error
      } finally {
        await file.close()
      }
    },

    discard: ({ path }: Archive) => rm(path, { force: true }),

    /**
     * Names an archive after its deployment within the transaction that writes the deployment, as its last step. A crash
     * leaves an archive without a row, which `removeOthers` finds, or a row without an archive, which its node reports as
     * failed.
     *
     * @param commit resolves once the transaction is committed
     */
    async place<Result>(
      { path }: Archive,
      commit: (rename: (deploymentId: number) => void) => Promise<Result>,
    ): Promise<Result> {
      let placed: number | undefined
      try {
        const result = await commit((deploymentId) => {
          placed = deploymentId
          placing.add(deploymentId)
          renameSync(path, pathOf(deploymentId))
        })
        await syncAside(directory)
        return result
      } finally {
        if (placed !== undefined) placing.delete(placed)
      }
    },

    /** Removes what an earlier process has left of uploads that did not end. Only at the start. */
    async removeUnfinished(): Promise<void> {
      for (const name of await namesIn(directory)) {
        if (UNFINISHED.test(name)) await rm(join(directory, name), { force: true })
      }
    },

    /** Removes the archives that no node has to unpack. @param isWanted asked for each deployment that has an archive */
    async removeOthers(isWanted: (deploymentId: number) => Promise<boolean>): Promise<void> {
      const found = (await namesIn(directory)).filter((name) => PLACED.test(name)).map(Number)
      // Looked at before the rows are read: what was placed in between has no row yet.
      for (const id of found.filter((id) => !placing.has(id))) {
        if (!(await isWanted(id)) && !placing.has(id)) await rm(pathOf(id), { force: true })
      }
    },
  }
}

const diskFull = new AppError('unavailable', 'The disk of this server is full; tell its operator', {
  'retry-after': '60',
})

const isDiskFull = (error: unknown) => ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(error) ?? '')

const namesIn = async (directory: string): Promise<string[]> => (await unlessMissing(readdir(directory))) ?? []
