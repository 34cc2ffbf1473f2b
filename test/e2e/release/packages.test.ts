/** The Debian and the RPM package: what is in them, what their linters say, and what installing and removing them does. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import manifest from '../../../package.json' with { type: 'json' }
import { buildDeb } from '../../../release/deb.ts'
import { buildRpm } from '../../../release/rpm.ts'
import { run } from '../../../src/cli/run.ts'
import { type Installation, install } from '../../harness/binary.ts'
import { canCopySystem, copySystem } from '../../harness/system-copy.ts'

/** Of the commit, in seconds since the epoch: 14 November 2023. */
const TIME = 1_700_000_000

// Packing takes seconds on an idle core, and longer on busy ones.
setDefaultTimeout(180_000)

let workshop: string
let program: Installation
beforeAll(async () => {
  workshop = mkdtempSync(join(tmpdir(), 'ncp-packages-'))
  program = await install()
})
afterAll(async () => {
  rmSync(workshop, { recursive: true, force: true })
  await program.remove()
})

const options = () => {
  const binary = program.path('ncp')
  return { binary, runnable: binary, directory: workshop, time: TIME }
}

describe.skipIf(!Bun.which('dpkg-deb'))('the Debian package', () => {
  let deb: string
  let tree: string
  beforeAll(() => {
    deb = buildDeb(options(), process.arch === 'arm64' ? 'arm64' : 'amd64')
    tree = join(workshop, 'tree')
    run(['dpkg-deb', '--raw-extract', deb, tree])
  })
  const read = (path: string) => readFileSync(join(tree, path), 'utf8')

  test('has the program, a unit that starts it, its user and a configuration that an upgrade preserves', () => {
    expect(run([join(tree, 'usr/bin/ncp'), 'version'])).toBe(`${manifest.version}\n`)
    expect(read('usr/lib/systemd/system/ncp.service')).toContain('\nExecStart=/usr/bin/ncp serve\n')
    expect(read('usr/lib/sysusers.d/ncp.conf')).toContain('\nu ncp ')
    expect(read('DEBIAN/conffiles')).toBe('/etc/ncp/ncp.toml\n')
    expect(read('DEBIAN/control')).toContain(`\nVersion: ${manifest.version}\n`)
    expect(gunzipSync(readFileSync(join(tree, 'usr/share/man/man1/ncp.1.gz'))).toString()).toContain('.TH NCP 1')
    expect(read('usr/share/bash-completion/completions/ncp')).toContain('complete -F _ncp ncp')
    run([join(tree, 'usr/bin/ncp'), 'config', 'validate', '--config', join(tree, 'etc/ncp/ncp.toml')])
  })

  test('has the units of a node, recommends what they start, and enables none of them', () => {
    const agent = read('usr/lib/systemd/system/ncp-agent.service')
    expect(agent).toContain('\nExecStart=/usr/bin/ncp agent\n')
    for (const unit of ['ncp-web.service', 'run-ncp-view.mount']) {
      expect(read(`usr/lib/systemd/system/${unit}`)).toBe(readFileSync(join('deploy', unit), 'utf8'))
    }
    expect(read('DEBIAN/control')).toContain('\nRecommends: nginx, php-fpm, acl, openssh-server\n')
    for (const script of ['postinst', 'prerm', 'postrm']) expect(read(`DEBIAN/${script}`)).not.toContain(' enable')
  })

  test('belongs to root, readable by every user and writable by no other', () => {
    for (const line of run(['dpkg-deb', '--contents', deb]).trim().split('\n')) {
      expect(line).toMatch(/^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--) root\/root /)
    }
  })

  test.skipIf(!Bun.which('lintian'))('passes lintian', () => {
    const { exitCode, stdout } = Bun.spawnSync(['lintian', '--allow-root', '--fail-on', 'error,warning', deb])
    expect([stdout.toString(), exitCode]).toEqual(['', 0])
  })

  test('has a changelog that Debian’s tools read', () => {
    const changelog = join(tree, 'usr/share/doc/ncp/changelog.gz')
    const { stdout } = Bun.spawnSync(['sh', '-c', `zcat '${changelog}' | dpkg-parsechangelog -l - -S Version`])
    expect(gunzipSync(readFileSync(changelog)).toString()).toStartWith(`ncp (${manifest.version}) `)
    if (Bun.which('dpkg-parsechangelog')) expect(stdout.toString().trim()).toBe(manifest.version)
  })

  describe.skipIf(!canCopySystem)('on a machine', () => {
    let machine: Machine
    beforeEach(() => {
      machine = startMachine(deb)
      machine.dpkg('--install', '/package')
    })
    afterAll(removeMachines)

    test('runs, and has its user', () => expectInstalled(machine))

    test('is upgraded without a prompt about the configuration, and the new program takes over', () => {
      writeFileSync(machine.path('etc/ncp/ncp.toml'), 'data = "/srv/ncp"\n')
      machine.dpkg('--install', '/package')
      expect(readFileSync(machine.path('etc/ncp/ncp.toml'), 'utf8')).toBe('data = "/srv/ncp"\n')
      expect(machine.systemctl()).toEqual([
        'daemon-reload',
        'daemon-reload',
        'daemon-reload',
        'try-restart ncp.service ncp-agent.service',
      ])
    })

    test('stops when it is removed, and leaves configuration, data and user', () => {
      machine.storeData()
      machine.dpkg('--remove', 'ncp')
      expect(machine.systemctl()).toEqual([
        'daemon-reload',
        'disable --now ncp.service ncp-agent.service ncp-web.service run-ncp-view.mount',
        'daemon-reload',
      ])
      expect(existsSync(machine.path('usr/bin/ncp'))).toBe(false)
      expect(existsSync(machine.path('etc/ncp/ncp.toml'))).toBe(true)
      expectDataKept(machine)
    })

    test('leaves the data and its owner even when it is purged, and says how to delete both', () => {
      machine.storeData()
      expect(machine.dpkg('--purge', 'ncp')).toContain('the data stays in /var/lib/ncp')
      expect(existsSync(machine.path('etc/ncp'))).toBe(false)
      expectDataKept(machine)
    })

    test('leaves nothing when it is purged and there is no data', () => {
      machine.dpkg('--purge', 'ncp')
      expect(existsSync(machine.path('etc/ncp'))).toBe(false)
      expect(() => machine.run('getent', 'passwd', 'ncp')).toThrow('getent')
    })
  })
})

describe.skipIf(!Bun.which('rpmbuild'))('the RPM package', () => {
  let rpm: string
  beforeAll(() => {
    rpm = buildRpm(options(), process.arch === 'arm64' ? 'aarch64' : 'x86_64')
  })
  const query = (...what: string[]) => run(['rpm', '--query', '--package', ...what, rpm])

  test('has its version and the date of its commit, and reveals nothing about the build machine', () => {
    const tags = '%{NAME} %{VERSION} %{RELEASE} %{LICENSE} %{BUILDTIME} %{BUILDHOST}'
    expect(query('--queryformat', tags)).toBe(`ncp ${manifest.version} 1 MIT ${TIME} reproducible`)
    expect(query('--changelog')).toStartWith('* Tue Nov 14 2023 ')
  })

  test('requires systemd, and a C library that RHEL 7 has', () => {
    const needed = query('--requires').split('\n')
    expect(needed).toContain('systemd')
    const versions = needed.flatMap((name) => /\(GLIBC_2\.(\d+)/.exec(name)?.[1] ?? [])
    expect(Math.max(...versions.map(Number))).toBe(17)
  })

  test('belongs to root, readable by every user and writable by no other', () => {
    const files = query('--queryformat', '[%{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILENAMES}\n]')
    for (const line of files.trim().split('\n')) {
      expect(line).toMatch(/^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x(?= root:root \/usr\/bin\/ncp$)) root:root \//)
    }
  })

  test('has a configuration, documentation and a licence that rpm recognizes as such', () => {
    expect(query('--configfiles').trim()).toBe('/etc/ncp/ncp.toml')
    expect(query('--licensefiles').trim()).toBe('/usr/share/licenses/ncp/LICENSE')
    expect(query('--docfiles')).toContain('/usr/share/doc/ncp/operations/releases.md\n')
  })

  test.skipIf(!Bun.which('rpmlint'))('passes rpmlint', () => {
    const { exitCode, stdout } = Bun.spawnSync(['rpmlint', '--config', 'release/rpm/rpmlint.toml', rpm])
    expect([exitCode, stdout.toString()]).toEqual([0, expect.stringContaining(' 0 errors, 0 warnings,')])
  })

  describe.skipIf(!canCopySystem)('on a machine', () => {
    let machine: Machine
    beforeEach(() => {
      machine = startMachine(rpm)
      // This machine's packages are not in rpm's database: what the package needs is tested above.
      machine.run('rpm', '--install', '--nodeps', '/package')
    })
    afterAll(removeMachines)

    test('runs, and has its user', () => expectInstalled(machine))

    test('is upgraded without a change to the configuration, and the new program takes over', () => {
      writeFileSync(machine.path('etc/ncp/ncp.toml'), 'data = "/srv/ncp"\n')
      machine.run('rpm', '--upgrade', '--nodeps', '--force', '/package')
      expect(readFileSync(machine.path('etc/ncp/ncp.toml'), 'utf8')).toBe('data = "/srv/ncp"\n')
      expect(machine.systemctl()).toEqual([
        'daemon-reload',
        'daemon-reload',
        'try-restart ncp.service ncp-agent.service',
        'daemon-reload',
      ])
    })

    test('stops when it is erased, and leaves a changed configuration, data and user', () => {
      machine.storeData()
      writeFileSync(machine.path('etc/ncp/ncp.toml'), 'data = "/srv/ncp"\n')
      expect(machine.run('rpm', '--erase', 'ncp')).toContain('the data stays in /var/lib/ncp')
      expect(machine.systemctl()).toEqual([
        'daemon-reload',
        'disable --now ncp.service ncp-agent.service ncp-web.service run-ncp-view.mount',
        'daemon-reload',
      ])
      expect(existsSync(machine.path('usr/bin/ncp'))).toBe(false)
      expect(readFileSync(machine.path('etc/ncp/ncp.toml.rpmsave'), 'utf8')).toBe('data = "/srv/ncp"\n')
      expectDataKept(machine)
    })
  })
})

type Machine = ReturnType<typeof startMachine>

const machines: { remove(): void }[] = []
function removeMachines(): void {
  for (const machine of machines.splice(0)) machine.remove()
}

/** A machine with the package as `/package`. No systemd runs there; what it would be asked is written down. */
function startMachine(path: string) {
  removeMachines()
  const machine = copySystem()
  machines.push(machine)
  run(['cp', path, machine.path('package')])
  mkdirSync(machine.path('run/systemd/system'), { recursive: true })
  rmSync(machine.path('usr/bin/systemctl'), { force: true })
  writeFileSync(machine.path('usr/bin/systemctl'), '#!/bin/sh\necho "$*" >>/systemctl\n', { mode: 0o755 })
  return {
    ...machine,
    // What other packages do when files change, such as the index of all manual pages, takes half a minute and is not ours.
    dpkg: (...args: string[]) => machine.run('dpkg', '--no-triggers', '--force-unsafe-io', ...args),
    systemctl: () => readFileSync(machine.path('systemctl'), 'utf8').trim().split('\n'),
    storeData(): void {
      mkdirSync(machine.path('var/lib/ncp'))
      writeFileSync(machine.path('var/lib/ncp/ncp.db'), 'data')
    },
  }
}

function expectInstalled(machine: Machine): void {
  expect(machine.run('ncp', 'version')).toBe(`${manifest.version}\n`)
  machine.run('ncp', 'config', 'validate', '--config', '/etc/ncp/ncp.toml')
  expect(machine.run('getent', 'passwd', 'ncp')).toMatch(/^ncp:.*:\/var\/lib\/ncp:\/usr\/sbin\/nologin$/m)
  for (const file of [
    'usr/lib/systemd/system/ncp.service',
    'usr/share/man/man1/ncp.1.gz',
    'usr/share/bash-completion/completions/ncp',
    'usr/share/fish/vendor_completions.d/ncp.fish',
  ]) {
    expect([file, existsSync(machine.path(file))]).toEqual([file, true])
  }
  // The operator enables and starts it.
  expect(machine.systemctl()).toEqual(['daemon-reload'])
}

function expectDataKept(machine: Machine): void {
  expect(readFileSync(machine.path('var/lib/ncp/ncp.db'), 'utf8')).toBe('data')
  expect(machine.run('getent', 'passwd', 'ncp')).toStartWith('ncp:')
}
