/** Which directory of a site is served, by its release and its public directory. */
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { DesiredSite, Failure } from '../node/protocol.ts'
import type { SiteFiles } from './site-files.ts'

export type Root =
  | {
      ok: true
      /** Real, absolute; undefined before the first release. */
      root: string | undefined
      /** As people find it: it stays the same from release to release. */
      documentRoot: string
    }
  | { ok: false; failure: Failure }

const DEFAULT_PUBLIC = 'public'

export async function rootOf(
  files: SiteFiles,
  { id, release, publicDir }: Pick<DesiredSite, 'id' | 'release' | 'publicDir'>,
): Promise<Root> {
  if (release === null) return { ok: true, root: undefined, documentRoot: files.siteDirectory(id) }
  const directory = files.release(id, release)
  if (!(await files.isDirectory(directory))) {
    return failed('release_missing', `Release ${release} is not on the server; deploy again`)
  }
  const within = publicDir ?? ((await files.isDirectory(join(directory, DEFAULT_PUBLIC))) ? DEFAULT_PUBLIC : '.')
  const root = join(directory, within)
  if (!(await files.isDirectory(root))) {
    return failed(
      'public_dir_missing',
      `Release ${release} has no directory ${within}: change public_dir, or deploy it`,
    )
  }
  return { ok: true, root: await realpath(root), documentRoot: join(files.current(id), within) }
}

const failed = (code: string, message: string): Root => ({
  ok: false,
  failure: { code, message, retryable: false, retryAt: null },
})
