/** The versions of PHP-FPM that are installed on this machine. */
import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '../../core/error-code.ts'

export type PhpVersion = {
  /** Such as 8.2. */
  version: string
  /** Absolute. */
  program: string
  /** Another one after an upgrade, so that what runs an older program is replaced. */
  build: string
}

/** Where Debian's packages, and those of deb.sury.org, put them. */
const PROGRAMS = '/usr/sbin'
const NAME = /^php-fpm(\d{1,2}\.\d{1,2})$/
const WRITABLE_BY_OTHERS = 0o022
const EXECUTABLE = 0o111

/** @returns the newest first; only programs that nobody but root can change */
export async function installedVersions(directory = PROGRAMS): Promise<PhpVersion[]> {
  const found: PhpVersion[] = []
  for (const name of (await unlessMissing(readdir(directory))) ?? []) {
    const [, version] = NAME.exec(name) ?? []
    const program = join(directory, name)
    const build = version === undefined ? undefined : buildOf(program)
    if (version !== undefined && build !== undefined) found.push({ version, program, build })
  }
  return found.sort((one, other) => compare(other.version, one.version))
}

/** @returns undefined for what is no program, or not root's alone */
function buildOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile() || stat.uid !== 0 || (stat.mode & WRITABLE_BY_OTHERS) !== 0 || (stat.mode & EXECUTABLE) === 0) {
    return undefined
  }
  return `${stat.ino}-${stat.size}-${stat.mtimeMs}`
}

function compare(one: string, other: string): number {
  const [major = 0, minor = 0] = one.split('.').map(Number)
  const [otherMajor = 0, otherMinor = 0] = other.split('.').map(Number)
  return major - otherMajor || minor - otherMinor
}
