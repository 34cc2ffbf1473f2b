/** The files that a package installs, whatever its format, below a directory of their own. */
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
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { run } from '../src/cli/run.ts'

export type PackageOptions = {
  /** The program to pack. */
  binary: string
  /** The same program for this machine, which writes its own unit, configuration, manual and completions. */
  runnable: string
  /** Where the package goes. */
  directory: string
  /** Seconds since the epoch, of the commit: the same commit gives the same package. */
  time: number
}

/** They start nothing before `ncp node setup` has prepared the machine. */
const NODE_UNITS = ['ncp-agent.service', 'ncp-web.service', 'run-ncp-view.mount']

export type PackageTree = {
  root: string
  /** @returns the path below the root of a file of the package, whose directory it makes where needed */
  place: (path: string) => string
  /** An empty directory for what the packer itself writes. */
  scratch: string
}

/**
 * Fills a tree, has `pack` make a package of it, and removes it. Where formats differ is left to `pack`: licence, changelogs,
 * and where zsh looks for completions.
 */
export function withPackageTree<Result>(options: PackageOptions, pack: (tree: PackageTree) => Result): Result {
  const workshop = mkdtempSync(join(tmpdir(), 'ncp-package-'))
  const [root, scratch] = [join(workshop, 'tree'), join(workshop, 'scratch')]
  for (const directory of [root, scratch]) mkdirSync(directory)
  const place = (path: string): string => {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    return join(root, path)
  }
  try {
    fill(root, place, options)
    return pack({ root, place, scratch })
  } finally {
    rmSync(workshop, { recursive: true })
  }
}

function fill(root: string, place: PackageTree['place'], { binary, runnable }: PackageOptions): void {
  run([runnable, 'systemd', 'install', '--root', root, '--binary', '/usr/bin/ncp'])
  // What a package brings lies under /usr; the rest of /etc is the administrator's.
  renameSync(join(root, 'etc/systemd/system/ncp.service'), place('usr/lib/systemd/system/ncp.service'))
  renameSync(join(root, 'etc/sysusers.d/ncp.conf'), place('usr/lib/sysusers.d/ncp.conf'))
  for (const folder of ['etc/systemd', 'etc/sysusers.d']) rmSync(join(root, folder), { recursive: true })

  for (const unit of NODE_UNITS) {
    const text = readFileSync(join('deploy', unit), 'utf8').replace(
      'ExecStart=/usr/local/bin/ncp ',
      'ExecStart=/usr/bin/ncp ',
    )
    writeFileSync(place(`usr/lib/systemd/system/${unit}`), text, { mode: 0o644 })
  }

  copyFileSync(binary, place('usr/bin/ncp'))
  chmodSync(join(root, 'usr/bin/ncp'), 0o755)
  writeFileSync(place('usr/share/man/man1/ncp.1.gz'), compress(run([runnable, 'man'])))
  writeFileSync(place('usr/share/bash-completion/completions/ncp'), run([runnable, 'completion', 'bash']))
  writeFileSync(place('usr/share/fish/vendor_completions.d/ncp.fish'), run([runnable, 'completion', 'fish']))
  cpSync('docs/operations', place('usr/share/doc/ncp/operations'), { recursive: true })
}

/** As small as gzip makes it, and without a time of its own (Debian policy 12.1 and 12.7). */
export function compress(text: string | Buffer): Buffer {
  return gzipSync(text, { level: 9 })
}
