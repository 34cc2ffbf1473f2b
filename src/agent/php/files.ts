/** Writes what a master of PHP-FPM reads, and makes what it writes to. */
import { constants } from 'node:fs'
import { chmod, chown, mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { logsOf, type NodeLayout } from '../layout.ts'
import {
  configurationOf,
  environmentOf,
  fpmConfiguration,
  guardOf,
  guardScript,
  type MasterSpec,
  userIdOf,
} from './pool.ts'

export type PhpPlaces = Pick<NodeLayout, 'sites' | 'logs' | 'phpSockets' | 'phpSettings'>

/** Everything that decides how a master is started: another text is another master. */
export function wantedText(spec: MasterSpec, places: PhpPlaces): string {
  const guards = spec.pools.map(({ noPhpIn }) => (noPhpIn.length === 0 ? '' : guardScript(noPhpIn)))
  return [fpmConfiguration(spec, places), ...guards, JSON.stringify(environmentOf(spec))].join('\0')
}

/** @throws Error of the system */
export async function writeSettings(spec: MasterSpec, places: PhpPlaces): Promise<void> {
  const gid = userIdOf(spec)
  for (const { siteId, noPhpIn } of spec.pools) {
    const guard = guardOf(places, siteId)
    await (noPhpIn.length === 0 ? rm(guard, { force: true }) : replace(guard, guardScript(noPhpIn), gid))
    await makeLog(spec, places, siteId)
  }
  await replace(configurationOf(places, spec), fpmConfiguration(spec, places), gid)
}

/** Whole or not at all; for root to change, and for the group to read. */
async function replace(path: string, text: string, gid: number): Promise<void> {
  const unfinished = `${path}.new`
  await rm(unfinished, { force: true })
  await writeFile(unfinished, text, { mode: 0o600, flag: 'wx' })
  await chown(unfinished, 0, gid)
  await chmod(unfinished, 0o640)
  await rename(unfinished, path)
}

/**
 * The error log of a site: a file of the user in a directory of root, so that nothing can be put in its place. PHP opens it
 * for each line: when it is moved away, the next start makes another.
 */
export async function makeLog(spec: MasterSpec, places: PhpPlaces, siteId: number): Promise<void> {
  const uid = userIdOf(spec)
  const directory = logsOf(places, spec.subscriptionId, siteId)
  for (const path of [dirname(directory), directory]) {
    await mkdir(path, { mode: 0o700, recursive: true })
    await chown(path, 0, uid)
    await chmod(path, 0o750)
  }
  const file = await open(
    join(directory, 'php.log'),
    constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW,
    0o640,
  )
  try {
    await file.chown(uid, uid)
    await file.chmod(0o640)
  } finally {
    await file.close()
  }
}

/** Of a master that is wanted no more. */
export async function removeSettings(
  spec: Pick<MasterSpec, 'subscriptionId' | 'version'>,
  places: PhpPlaces,
): Promise<void> {
  await rm(configurationOf(places, spec), { force: true })
}

/** Of a site without PHP. A process that has read it goes on with what it read. */
export const removeGuard = (siteId: number, places: PhpPlaces): Promise<void> =>
  rm(guardOf(places, siteId), { force: true })
