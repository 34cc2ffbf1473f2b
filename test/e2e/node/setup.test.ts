/** Preparing a machine as a node, again, and taking it back. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeLayout } from '../../../src/agent/layout.ts'
import { treeOf } from '../../../src/agent/setup/tree.ts'
import { type NodeMachine, nodeTest, startNodeMachine } from '../../harness/node-machine.ts'
import { setUp } from '../../harness/node-setup.ts'
import { until } from '../../harness/until.ts'

const layout = nodeLayout()
const UNITS = ['ncp-web.service', 'run-ncp-view.mount', 'ncp-agent.service']

/** Names, owners, modes and contents of what is in a directory; without the copies that useradd makes of its files. */
const listing = (machine: NodeMachine, directory: string) =>
  machine.bash(
    `cd ${directory}
     find . -mindepth 1 ! -name '*-' ! -type d -printf '%p %m %u %g %l\n' | sort
     find . -mindepth 1 -type d -printf '%p %m %u %g\n' | sort
     find . -type f ! -name '*-' -exec sha256sum {} + | sort`,
  )

async function startNginx(machine: NodeMachine, ...prefix: string[]) {
  const nginx = machine.spawn([...prefix, 'nginx', '-e', 'stderr', '-c', layout.webConfiguration, '-g', 'daemon off;'])
  await until('nginx', async () => {
    if (nginx.hasEnded()) throw new Error(nginx.stderr())
    return (await machine.run(['curl', '-s', 'http://127.0.0.1/'])).exitCode === 0
  })
  return nginx
}

describe('the set-up of a node', () => {
  nodeTest('prepares everything, and a second time finds nothing to do', async () => {
    await using machine = await startNodeMachine()
    const found = await setUp(machine, 'look')
    expect(found.findings.map(({ state }) => state)).not.toContain('blocked')
    expect(found.findings.length).toBeGreaterThan(20)
    const first = await setUp(machine, 'apply')
    expect([first.exitCode, first.stderr]).toEqual([0, ''])
    expect(first.findings).toEqual(found.findings)
    const etc = await listing(machine, '/etc')
    for (const what of ['look', 'apply'] as const) expect((await setUp(machine, what)).findings).toEqual([])
    expect(await listing(machine, '/etc')).toBe(etc)

    for (const { path, mode, owner, group } of treeOf(layout).filter(({ path }) => path !== layout.view)) {
      const expected = `${mode.toString(8)} ${owner ? 'ncp-web' : 'root'} ${(owner ?? group) ? 'ncp-web' : 'root'}\n`
      expect([path, await machine.bash(`stat -c '%a %U %G' ${path}`)]).toEqual([path, expected])
    }
    expect(await machine.bash(`stat -c %a ${layout.webConfiguration}`)).toBe('600\n')
    expect(await machine.bash(`stat -c %a ${layout.webLogs}/access.log`)).toBe('600\n')
    expect(await machine.bash('getent passwd ncp-web')).toContain(':/nonexistent:/usr/sbin/nologin')
    expect(await machine.bash(`findmnt -no OPTIONS ${layout.view}`)).toContain('nosymfollow')
    await startNginx(machine)
    expect((await machine.run(['curl', '-s', 'http://127.0.0.1/'])).stdout).toContain('No site here')
    expect((await setUp(machine, 'look')).findings).toEqual([])
  })

  nodeTest('changes nothing while it only looks', async () => {
    await using machine = await startNodeMachine()
    const before = await Promise.all(['/etc', '/srv', '/run', '/var/log'].map((path) => listing(machine, path)))
    await setUp(machine, 'look')
    expect(await Promise.all(['/etc', '/srv', '/run', '/var/log'].map((path) => listing(machine, path)))).toEqual(
      before,
    )
  })

  nodeTest('is taken back whole', async () => {
    await using machine = await startNodeMachine()
    const before = await Promise.all(['/etc', '/srv', '/run', '/var/log'].map((path) => listing(machine, path)))
    await setUp(machine, 'apply')
    // As the agent does.
    await machine.bash(`mkdir ${layout.states}/waiting; touch ${layout.states}/waiting/index.html`)
    const { exitCode, left, stderr } = await setUp(machine, 'undo')
    expect([exitCode, left, stderr]).toEqual([0, [], ''])
    expect(await Promise.all(['/etc', '/srv', '/run', '/var/log'].map((path) => listing(machine, path)))).toEqual(
      before,
    )
    expect((await machine.run(['findmnt', layout.view])).exitCode).toBe(1)
    expect((await setUp(machine, 'undo')).exitCode).toBe(0)
  })

  nodeTest('leaves files of customers, and the accounts that they name, when it is taken back', async () => {
    await using machine = await startNodeMachine()
    await setUp(machine, 'apply')
    await machine.bash('mkdir -p /srv/ncp/ncp-s7/sites/1; echo theirs >/srv/ncp/ncp-s7/sites/1/file')
    const { exitCode, left } = await setUp(machine, 'undo')
    expect(exitCode).toBe(0)
    expect(left.join('\n')).toContain('ncp-web')
    expect(await machine.bash('cat /srv/ncp/ncp-s7/sites/1/file; id -un ncp-web')).toBe('theirs\nncp-web\n')
    expect((await machine.run(['ls', layout.webConfiguration])).exitCode).not.toBe(0)
    await setUp(machine, 'apply')
    expect((await setUp(machine, 'look')).findings).toEqual([])
  })

  nodeTest('is not taken back while its web server runs', async () => {
    await using machine = await startNodeMachine()
    await setUp(machine, 'apply')
    const nginx = await startNginx(machine)
    const { exitCode, stderr } = await setUp(machine, 'undo')
    expect(exitCode).not.toBe(0)
    expect(stderr).toContain('still runs: stop the agent first')
    expect((await setUp(machine, 'look')).findings).toEqual([])
    nginx.kill('SIGQUIT')
    await nginx.ended()
    expect((await setUp(machine, 'undo')).exitCode).toBe(0)
  })

  nodeTest('mends what has changed', async () => {
    await using machine = await startNodeMachine()
    await setUp(machine, 'apply')
    await machine.bash(
      `chmod 755 ${layout.names}; echo '# changed' >>${layout.webConfiguration}; umount ${layout.view}`,
    )
    expect((await setUp(machine, 'look')).findings.map(({ what }) => what)).toEqual([
      layout.names,
      `the mount on ${layout.view} that follows no links`,
      layout.webConfiguration,
    ])
    await setUp(machine, 'apply')
    expect((await setUp(machine, 'look')).findings).toEqual([])
  })

  nodeTest('follows no link that lies where a directory should be', async () => {
    await using machine = await startNodeMachine()
    await machine.bash('mkdir -p /srv/ncp /var/victim; chmod 700 /var/victim; ln -s /var/victim /srv/ncp/www')
    const { exitCode, stderr } = await setUp(machine, 'apply')
    expect(exitCode).not.toBe(0)
    expect(stderr).toContain('/srv/ncp/www is no directory')
    expect(await machine.bash("stat -c '%a %G' /var/victim")).toBe('700 root\n')
  })

  nodeTest('says which packages are missing and how to install them, and does nothing without them', async () => {
    await using machine = await startNodeMachine()
    await machine.bash('rm /usr/bin/setfacl /usr/sbin/nginx')
    const before = await listing(machine, '/etc')
    const { findings } = await setUp(machine, 'apply')
    expect(findings).toEqual([
      { what: 'the packages nginx, acl', state: 'blocked', advice: 'apt-get install nginx acl' },
    ])
    expect(await listing(machine, '/etc')).toBe(before)
  })

  nodeTest('lets nginx refuse links where the kernel cannot', async () => {
    await using machine = await startNodeMachine()
    // As a kernel before 5.10 does: it mounts, and ignores the option.
    await machine.bash(
      `printf '#!/bin/sh\nexec /usr/bin/mount $(echo "$@" | sed s/,nosymfollow//)\n' >/usr/local/sbin/mount
       chmod 755 /usr/local/sbin/mount`,
    )
    await setUp(machine, 'apply')
    expect((await machine.run(['findmnt', layout.view])).exitCode).toBe(1)
    expect(readFileSync(machine.path(layout.webConfiguration), 'utf8')).toContain('disable_symlinks if_not_owner')
  })

  nodeTest('raises settings of the kernel that are too low, and lowers none', async () => {
    await using machine = await startNodeMachine()
    await machine.bash(
      `for name in fifos regular; do
         echo 0 >/run/$name
         mount --bind /run/$name /proc/sys/fs/protected_$name
       done
       echo 2 >/run/fifos`,
    )
    expect((await setUp(machine, 'look')).findings.map(({ what }) => what)).toContain('fs.protected_regular')
    await setUp(machine, 'apply')
    expect(await machine.bash('cat /run/fifos /run/regular')).toBe('2\n1\n')
  })

  nodeTest('writes units that systemd understands', async () => {
    await using machine = await startNodeMachine()
    await setUp(machine, 'apply')
    await machine.bash('cp /bin/true /usr/bin/ncp')
    const paths = UNITS.map((unit) => `/etc/systemd/system/${unit}`)
    const { exitCode, stderr } = await machine.run(['systemd-analyze', 'verify', ...paths])
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(await machine.bash(`cat ${paths.join(' ')}`)).toContain('\nExecStart=/usr/bin/ncp agent\n')
    const tmpfiles = ['systemd-tmpfiles', '--create', '--root=/run/empty', '/etc/tmpfiles.d/ncp-node.conf']
    await machine.bash('mkdir -p /run/empty/etc; cp /etc/passwd /etc/group /run/empty/etc/')
    expect(await machine.run(tmpfiles)).toEqual({ exitCode: 0, stdout: '', stderr: '' })
    expect(await machine.bash('cd /run/empty/run/ncp; stat -c "%n %a" *')).toBe('fpm 711\nphp 711\nprobe 700\n')
  })

  nodeTest('leaves units alone that a package has brought', async () => {
    await using machine = await startNodeMachine()
    await machine.bash(`cp /opt/ncp/deploy/{${UNITS.join(',')}} /usr/lib/systemd/system/`)
    await setUp(machine, 'apply')
    expect((await machine.run(['ls', `/etc/systemd/system/${UNITS[0]}`])).exitCode).not.toBe(0)
  })
})

describe('the ports of the web', () => {
  nodeTest('are held by someone else, who is named', async () => {
    await using machine = await startNodeMachine()
    writeServer(machine)
    const server = machine.spawn(['bun', '/srv/serve.ts'])
    await until('the server', () => server.stdout().includes('ready'))
    const { findings } = await setUp(machine, 'apply')
    const blocked = findings.filter(({ state }) => state === 'blocked')
    expect(blocked.map(({ what }) => what)).toEqual([
      expect.stringMatching(/^port 80, held by bun \/srv\/serve.ts \(process \d+\)$/),
      expect.stringMatching(/^port 443, held by bun \/srv\/serve.ts \(process \d+\)$/),
    ])
    expect(blocked[0]?.advice).toMatch(/^end process \d+$/)
    expect(server.hasEnded()).toBeFalse()
    server.kill()
  })

  nodeTest('are taken from the web server of the distribution if asked for, and given back', async () => {
    await using machine = await startNodeMachine()
    // There is no systemd here: a stand-in that starts and stops that one service, and says what it was asked.
    await machine.bash(
      `mkdir -p /run/systemd/system
       echo '0::/system.slice/nginx.service' >/run/cgroup
       cat >/usr/local/bin/systemctl
       chmod 755 /usr/local/bin/systemctl
       systemctl enable --now nginx.service
       : >/run/asked
       mount --bind /run/cgroup /proc/$(cat /run/nginx.pid)/cgroup`,
      {
        stdin: `#!/bin/sh
echo "$*" >>/run/asked
case "$*" in
  'disable --now nginx.service') umount /proc/$(cat /run/nginx.pid)/cgroup; nginx -s quit; while [ -e /run/nginx.pid ]; do sleep 0.1; done ;;
  'enable --now nginx.service') nginx ;;
  *'is-active'*) exit 3 ;;
  'start run-ncp-view.mount') mount -o bind,ro,nodev,nosuid,noexec,nosymfollow /srv/ncp /run/ncp/view ;;
  'stop run-ncp-view.mount') umount /run/ncp/view ;;
esac
`,
      },
    )
    const refused = await setUp(machine, 'apply')
    expect(refused.findings.filter(({ state }) => state === 'blocked')).toEqual([
      {
        what: expect.stringMatching(/^port 80, held by nginx.service \(process \d+\)$/),
        state: 'blocked',
        advice: 'ncp node setup --take-ports, or systemctl disable --now nginx.service',
      },
    ])
    const asked = () => machine.bash('cat /run/asked')
    expect(await asked()).not.toContain('nginx.service')
    expect(await asked()).not.toContain('enable')
    const taken = await setUp(machine, 'apply', '--take-ports')
    expect([taken.exitCode, taken.stderr]).toEqual([0, ''])
    expect(await asked()).toContain('disable --now nginx.service\n')
    expect(await asked()).toEndWith('enable --now run-ncp-view.mount ncp-web.service\n')
    expect((await machine.run(['curl', '-s', 'http://127.0.0.1/'])).exitCode).not.toBe(0)
    expect((await setUp(machine, 'undo')).left).toEqual([])
    expect(await asked()).toContain('enable --now nginx.service\n')
    expect((await machine.run(['curl', '-s', 'http://127.0.0.1/'])).exitCode).toBe(0)
  })
})

describe('the sandbox of the units', () => {
  for (const [unit, exposure] of [
    ['ncp-web.service', 2.7],
    ['ncp-agent.service', 3],
  ] as const) {
    test.skipIf(!Bun.which('systemd-analyze'))(`leaves ${unit} an exposure of at most ${exposure} of 10`, () => {
      const path = join(import.meta.dir, '../../../deploy', unit)
      const command = ['systemd-analyze', 'security', '--offline=true', `--threshold=${exposure * 10}`, path]
      const { exitCode, stdout, stderr } = Bun.spawnSync(command, { stdout: 'pipe', stderr: 'pipe' })
      expect([exitCode, `${stdout}${stderr}`]).toEqual([
        0,
        expect.stringContaining(`level for ${unit}: ${exposure.toFixed(1)}`),
      ])
    })
  }

  nodeTest('leaves nginx what it needs: to serve, to load its configuration again, and to open a new log', async () => {
    await using machine = await startNodeMachine()
    await setUp(machine, 'apply')
    const unit = readFileSync(join(import.meta.dir, '../../../deploy/ncp-web.service'), 'utf8')
    const [, capabilities = ''] = /^CapabilityBoundingSet=(.+)$/m.exec(unit) ?? []
    expect(capabilities).toContain('CAP_NET_BIND_SERVICE')
    const set = capabilities.split(' ').map((name) => `+${name.replace('CAP_', '').toLowerCase()}`)
    const nginx = await startNginx(machine, 'setpriv', `--bounding-set=-all,${set.join(',')}`, '--no-new-privs')
    const log = `${layout.webLogs}/access.log`
    for (const signal of ['HUP', 'USR1', 'HUP']) {
      await machine.bash(`mv ${log} ${log}.1; kill -${signal} $(cat ${layout.webPid})`)
      await until('the new log', async () => {
        await machine.run(['curl', '-s', 'http://127.0.0.1/'])
        return (await machine.run(['grep', '-q', 'No site\\|curl', log])).exitCode === 0
      })
    }
    expect(nginx.stderr()).not.toMatch(/\[(?:crit|emerg)\]/)
    expect(await machine.bash(`ps -o user= --ppid $(cat ${layout.webPid}) | sort -u`)).toBe('ncp-web\n')
    await machine.bash(`kill -QUIT $(cat ${layout.webPid})`)
    expect(await nginx.ended()).toBe(0)
  })
})

/** Listens on both ports, as another web server does. */
function writeServer(machine: NodeMachine): void {
  const source = `for (const port of [80, 443]) Bun.serve({ port, fetch: () => new Response('') })\nconsole.log('ready')`
  Bun.spawnSync(['tee', machine.path('/srv/serve.ts')], { stdin: new Blob([source]), stdout: 'ignore' })
}
