/** What nginx never gives, whatever a customer links to, with either of the two ways to refuse links. */
import { describe, expect } from 'bun:test'
import { nodeTest, startNodeMachine } from '../../harness/node-machine.ts'
import { startWebNode } from '../../harness/web-node.ts'

for (const refusesLinks of ['mount', 'nginx'] as const) {
  describe(`links refused by the ${refusesLinks === 'mount' ? 'kernel' : 'web server'}`, () => {
    nodeTest('lead nowhere, in a site and in what PHP and SFTP can make of it', async () => {
      await using machine = await startNodeMachine()
      const web = await startWebNode(machine, { refusesLinks })
      const own = await web.serve({
        id: 1,
        subscription: 1,
        names: ['a.test'],
        files: { 'index.html': 'a', 'd/x.txt': 'own' },
      })
      const other = await web.serve({
        id: 2,
        subscription: 2,
        names: ['b.test'],
        kind: 'php',
        files: { 'index.html': 'b', 'secret.txt': 'SECRET', 'conf.php': '<?php SECRET' },
      })
      await web.certify('b.test')
      await machine.bash(`chmod 666 ${other}/*; echo SECRET >/var/lib/panel; chmod 644 /var/lib/panel; sleep 1.5`)
      const targets: Record<string, string> = {
        file: `${other}/secret.txt`,
        directory: other,
        script: `${other}/conf.php`,
        passwd: '/etc/passwd',
        root: '/',
        panel: '/var/lib/panel',
        key: '/srv/ncp/tls/by-name/b.test/pem',
        names: '/srv/ncp/www',
        name: '/srv/ncp/www/b.test/pub/secret.txt',
        log: '/var/log/ncp/web/access.log',
        configuration: '/etc/ncp/nginx/nginx.conf',
        view: `/run/ncp/view/ncp-s2/sites/2/releases/1/secret.txt`,
        process: '/proc/self/environ',
        relative: '../../../../../ncp-s2/sites/2/releases/1/secret.txt',
      }
      const links = Object.entries(targets).map(([name, target]) => `ln -s ${target} ${own}/${name}`)
      await machine.bash(`${links.join('\n')}\nln -s ${other} ${own}/d/deep`, { as: 'ncp-s1' })
      for (const name of Object.keys(targets)) {
        for (const path of [`/${name}`, `/${name}/`, `/${name}/secret.txt`, `/${name}/etc/passwd`, `/${name}/b.test`]) {
          const answer = await web.ask(path)
          expect([path, answer.status]).toEqual([path, 404])
        }
      }
      expect((await web.ask('/d/deep/secret.txt')).status).toBe(404)
      expect((await web.ask('/d/x.txt')).text).toBe('own')

      // The index, the page for what is missing and the front controller are files like any other.
      await machine.bash(
        `cd ${own}; rm index.html; ln -s ${other}/secret.txt index.html; ln -s ${other}/secret.txt 404.html`,
        { as: 'ncp-s1' },
      )
      for (const path of ['/', '/index.html', '/none', '/404.html']) {
        expect((await web.ask(path)).text).not.toContain('SECRET')
      }
    })

    nodeTest('are no way for a single-page site or a PHP site either', async () => {
      await using machine = await startNodeMachine()
      const web = await startWebNode(machine, { refusesLinks })
      const other = await web.serve({
        id: 2,
        subscription: 2,
        names: ['b.test'],
        files: { 'index.html': 'SECRET', 'index.php': '<?php echo "SECRET";' },
      })
      for (const [id, kind] of [
        [3, 'spa'],
        [4, 'php'],
      ] as const) {
        const root = await web.serve({ id, subscription: 1, names: [`${kind}.test`], files: { 'keep.txt': 'x' }, kind })
        await machine.bash(
          `cd ${root}; ln -s ${other}/index.html index.html; ln -s ${other}/index.php index.php; ln -s ${other} dir`,
          { as: 'ncp-s1' },
        )
        if (kind === 'php') await web.startPhp(id, 1)
        for (const path of ['/', '/index.html', '/index.php', '/any', '/any/', '/dir/', '/dir/index.php', '/any.php']) {
          const answer = await web.ask(path, { host: `${kind}.test` })
          expect([kind, path, answer.text.includes('SECRET')]).toEqual([kind, path, false])
        }
      }
    })
  })
}

describe('a customer', () => {
  nodeTest('reads neither names, nor keys, nor logs, nor the configuration, nor another’s files', async () => {
    await using machine = await startNodeMachine()
    const web = await startWebNode(machine)
    await web.serve({ id: 1, subscription: 1, names: ['a.test'], files: { 'index.html': 'a' } })
    const other = await web.serve({ id: 2, subscription: 2, names: ['b.test'], files: { 'index.html': 'b' } })
    await web.certify('b.test')
    const paths = [
      ...[
        '/srv/ncp/www',
        '/srv/ncp/gen',
        '/srv/ncp/state',
        '/srv/ncp/tls',
        '/srv/ncp/tls/by-name/b.test/pem',
        '/srv/ncp/.staging',
      ],
      ...[
        '/srv/ncp/.trash',
        '/srv/ncp/.agent',
        '/srv/ncp/.web',
        '/srv/ncp/acme',
        '/srv/ncp/ncp-s2',
        other,
        `${other}/index.html`,
      ],
      ...['/run/ncp/view/www', '/run/ncp/view/tls', '/run/ncp/view/ncp-s2', '/run/ncp/probe', '/run/ncp/php'],
      ...[
        '/etc/ncp/nginx',
        '/etc/ncp/nginx/nginx.conf',
        '/etc/ncp/ssh',
        '/var/log/ncp',
        '/var/log/ncp/web',
        '/var/log/ncp/web/access.log',
      ],
    ]
    for (const path of paths) {
      const { exitCode, stderr } = await machine.run(['bash', '-c', `ls ${path}/. || cat ${path}`], { as: 'ncp-s1' })
      expect([path, exitCode]).toEqual([path, 1])
      expect(stderr).toContain('Permission denied')
    }
    for (const path of [
      '/srv/ncp/www/x',
      '/srv/ncp/gen/9.9',
      '/srv/ncp/tls/by-name/x',
      '/srv/ncp/x',
      '/run/ncp/php/9.sock',
      '/run/ncp/x',
    ]) {
      expect((await machine.run(['ln', '-s', '/tmp', path], { as: 'ncp-s1' })).exitCode).toBe(1)
    }
    // By the path that nginx uses, too: the mount is no second way in.
    expect(
      (await machine.run(['cat', '/run/ncp/view/ncp-s1/sites/1/releases/1/index.html'], { as: 'ncp-s1' })).stdout,
    ).toBe('a')
    expect(
      (await machine.run(['touch', '/run/ncp/view/ncp-s1/sites/1/releases/1/x'], { as: 'ncp-s1' })).stderr,
    ).toContain('Read-only')
  })

  nodeTest('lets its files be read by nginx, but not those that it keeps to itself', async () => {
    await using machine = await startNodeMachine()
    const web = await startWebNode(machine)
    const root = await web.serve({
      id: 1,
      subscription: 1,
      names: ['a.test'],
      files: { 'index.html': 'a', 'private.txt': 'SECRET' },
    })
    await machine.bash(
      `cd ${root}; chmod 600 private.txt; mkfifo pipe; mkdir closed; echo SECRET >closed/x; chmod 700 closed`,
      { as: 'ncp-s1' },
    )
    for (const path of ['/private.txt', '/pipe', '/closed/x', '/closed/']) {
      expect([path, (await web.ask(path)).status]).toEqual([path, 404])
    }
  })
})
