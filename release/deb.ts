/** The Debian package: the program with its unit, its user, its manual, completions and a first configuration. */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import manifest from '../package.json' with { type: 'json' }
import { debianChangelog } from './debian-changelog.ts'
import { run } from './run.ts'

export type DebOptions = {
  /** The program to pack. */
  binary: string
  /** Debian's name of its kind of machine. */
  architecture: 'amd64' | 'arm64'
  /** The same program for this machine, which writes its own unit, configuration, manual and completions. */
  runnable: string
  /** Where the package goes. */
  directory: string
  /** Seconds since the epoch, of the commit: the same commit gives the same package. */
  time: number
}

const INSTALLED = '/usr/bin/ncp'
const COMPLETIONS = {
  bash: 'usr/share/bash-completion/completions/ncp',
  zsh: 'usr/share/zsh/vendor-completions/_ncp',
  fish: 'usr/share/fish/vendor_completions.d/ncp.fish',
}
const MAINTAINER = 'The maintainers of ncp <maintainers@ncp.invalid>'
const SCRIPTS = ['postinst', 'prerm', 'postrm']

/**
 * @returns the path of the package
 * @throws Error when dpkg-deb fails, or is not there
 */
export function buildDeb({ binary, architecture, runnable, directory, time }: DebOptions): string {
  const tree = mkdtempSync(join(tmpdir(), 'ncp-deb-'))
  const place = (path: string): string => {
    mkdirSync(join(tree, dirname(path)), { recursive: true })
    return join(tree, path)
  }
  try {
    run([runnable, 'systemd', 'install', '--root', tree, '--binary', INSTALLED])
    // What a package brings lies under /usr; the rest of /etc is the administrator's.
    renameSync(join(tree, 'etc/systemd/system/ncp.service'), place('usr/lib/systemd/system/ncp.service'))
    renameSync(join(tree, 'etc/sysusers.d/ncp.conf'), place('usr/lib/sysusers.d/ncp.conf'))
    for (const folder of ['etc/systemd', 'etc/sysusers.d']) rmSync(join(tree, folder), { recursive: true })

    copyFileSync(binary, place('usr/bin/ncp'))
    writeFileSync(place('usr/share/man/man1/ncp.1.gz'), compress(run([runnable, 'man'])))
    for (const [shell, path] of Object.entries(COMPLETIONS))
      writeFileSync(place(path), run([runnable, 'completion', shell]))
    copyFileSync('LICENSE', place('usr/share/doc/ncp/copyright'))
    writeFileSync(
      place('usr/share/doc/ncp/changelog.gz'),
      compress(debianChangelog({ ...manifest, maintainer: MAINTAINER, time })),
    )
    writeFileSync(place('usr/share/doc/ncp/CHANGELOG.md.gz'), compress(readFileSync('CHANGELOG.md')))
    copyFileSync('release/debian/lintian-overrides', place('usr/share/lintian/overrides/ncp'))
    cpSync('docs/operations', place('usr/share/doc/ncp/operations'), { recursive: true })

    writeFileSync(place('DEBIAN/control'), control(architecture))
    writeFileSync(place('DEBIAN/conffiles'), '/etc/ncp/ncp.toml\n')
    for (const script of SCRIPTS) copyFileSync(`release/debian/${script}`, place(`DEBIAN/${script}`))

    // The package's modes, whatever umask this runs under.
    run(['chmod', '-R', 'u=rwX,go=rX', tree])
    for (const path of ['usr/bin/ncp', ...SCRIPTS.map((name) => `DEBIAN/${name}`)]) chmodSync(join(tree, path), 0o755)
    const path = resolve(directory, `ncp_${manifest.version}_${architecture}.deb`)
    // gzip: every dpkg reads it. Times that are newer become this one.
    const build = ['--root-owner-group', '-Zgzip', '-z6', '--build', tree, path]
    run(['env', `SOURCE_DATE_EPOCH=${time}`, 'dpkg-deb', ...build])
    return path
  } finally {
    rmSync(tree, { recursive: true })
  }
}

/** As small as gzip makes it, and without a time of its own (Debian policy 12.1 and 12.7). */
function compress(text: string | Buffer): Buffer {
  return gzipSync(text, { level: 9 })
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
    Description: `web-hosting control panel in one executable\n JWTs for people, API keys for scripts, users, subscriptions and sites,\n with an interactive reference at /api/docs.`,
  }
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('')
}
