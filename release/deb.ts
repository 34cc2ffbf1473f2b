/** The Debian package, for Debian, Ubuntu and their derivatives. */
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { run } from '../src/cli/run.ts'
import { debianChangelog } from './debian-changelog.ts'
import { compress, type PackageOptions, withPackageTree } from './package-tree.ts'

const MAINTAINER = 'The maintainers of ncp <maintainers@ncp.invalid>'
const SCRIPTS = ['postinst', 'prerm', 'postrm']

/**
 * @param architecture Debian's name of the program's kind of machine
 * @returns the path of the package
 * @throws Error when dpkg-deb fails, or is not there
 */
export function buildDeb(options: PackageOptions, architecture: 'amd64' | 'arm64'): string {
  const { runnable, directory, time } = options
  return withPackageTree(options, ({ root, place }) => {
    const changelog = debianChangelog({ ...manifest, maintainer: MAINTAINER, time })
    writeFileSync(place('usr/share/zsh/vendor-completions/_ncp'), run([runnable, 'completion', 'zsh']))
    copyFileSync('LICENSE', place('usr/share/doc/ncp/copyright'))
    writeFileSync(place('usr/share/doc/ncp/changelog.gz'), compress(changelog))
    writeFileSync(place('usr/share/doc/ncp/CHANGELOG.md.gz'), compress(readFileSync('CHANGELOG.md')))
    copyFileSync('release/debian/lintian-overrides', place('usr/share/lintian/overrides/ncp'))

    writeFileSync(place('DEBIAN/control'), control(architecture))
    writeFileSync(place('DEBIAN/conffiles'), '/etc/ncp/ncp.toml\n')
    for (const script of SCRIPTS) {
      copyFileSync(`release/debian/${script}`, place(`DEBIAN/${script}`))
      chmodSync(place(`DEBIAN/${script}`), 0o755)
    }
    // The package's modes, whatever umask this runs under.
    run(['chmod', '-R', 'u=rwX,go=rX', root])

    const path = join(directory, `ncp_${manifest.version}_${architecture}.deb`)
    // gzip: every dpkg reads it. Times that are newer become this one.
    const build = ['--root-owner-group', '-Zgzip', '-z6', '--build', root, path]
    run(['env', `SOURCE_DATE_EPOCH=${time}`, 'dpkg-deb', ...build])
    return path
  })
}

function control(architecture: string): string {
  const fields = {
    Package: manifest.name,
    Version: manifest.version,
    Architecture: architecture,
    Maintainer: MAINTAINER,
    Section: 'net',
    Priority: 'optional',
    Depends: 'systemd, libc6',
    // Of a node.
    Recommends: 'nginx, php-fpm, acl, openssh-server',
    Description: `web-hosting control panel in one executable\n JWTs for people, API keys for scripts, users, subscriptions and sites,\n with an interactive reference at /api/docs.`,
  }
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('')
}
