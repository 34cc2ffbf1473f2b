/** Fetches an archive into a directory of root's, as an open file without a name. */
import { constants } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchiveSource, DesiredRelease } from '../node/protocol.ts'

/** @throws Error ENOENT where the panel has no such archive */
export async function download(
  source: ArchiveSource,
  { deploymentId, sha256, archiveBytes }: DesiredRelease,
  directory: string,
  signal: AbortSignal,
): Promise<FileHandle> {
  const stream = await source.archive(sha256, signal)
  if (!stream) throw Object.assign(new Error('the panel has no such archive'), { code: 'ENOENT' })
  const path = join(directory, `archive-${deploymentId}`)
  await rm(path, { force: true })
  const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600)
  await rm(path)
  try {
    let bytes = 0
    for await (const chunk of stream) {
      if (bytes + chunk.length > archiveBytes) throw new Error('the panel sends more than the archive has')
      // By position, so that the unpacker reads from the beginning.
      for (let written = 0; written < chunk.length; ) {
        written += (await file.write(chunk, written, chunk.length - written, bytes + written)).bytesWritten
      }
      bytes += chunk.length
    }
    if (bytes !== archiveBytes) throw new Error('the panel has sent only a part of the archive')
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}
