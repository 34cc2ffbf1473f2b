/** The RPM package, for RHEL, its relatives and Fedora. */
import { copyFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { run } from '../src/cli/run.ts'
import { type PackageOptions, withPackageTree } from './package-tree.ts'

/**
 * @param architecture RPM's name of the program's kind of machine
 * @returns the path of the package
 * @throws Error when rpmbuild fails, or is not there
 */
export function buildRpm(options: PackageOptions, architecture: 'x86_64' | 'aarch64'): string {
  const { runnable, directory, time } = options
  const name = `ncp-${manifest.version}-1.${architecture}.rpm`
  return withPackageTree(options, ({ root, place, scratch }) => {
    writeFileSync(place('usr/share/zsh/site-functions/_ncp'), run([runnable, 'completion', 'zsh']))
    copyFileSync('LICENSE', place('usr/share/licenses/ncp/LICENSE'))
    copyFileSync('CHANGELOG.md', place('usr/share/doc/ncp/CHANGELOG.md'))

    const macros = { tree: root, program_version: manifest.version, _topdir: scratch, _rpmdir: resolve(directory) }
    const definitions = Object.entries(macros).flatMap(([macro, value]) => ['--define', `${macro} ${value}`])
    const build = ['-bb', '--target', `${architecture}-linux`, ...definitions, 'release/rpm/ncp.spec']
    run(['env', `SOURCE_DATE_EPOCH=${time}`, 'rpmbuild', ...build])
    return join(directory, name)
  })
}
