/**
 * What one customer can do to another and to the node over SFTP, alone and together with what it has served, and by names.
 * What code can do is in php-isolation.test.ts; docs/security/isolation.md has the whole table.
 */
import { describe, expect } from 'bun:test'
import { siteOf, userOf } from '../../../src/agent/layout.ts'
import { layout, type Site, usingAgentNode } from '../../harness/agent-node.ts'
import { nodeTest } from '../../harness/node-machine.ts'
import { setUp } from '../../harness/node-setup.ts'
import type { Customer } from '../../harness/panel.ts'
import { until } from '../../harness/until.ts'

type Owner = Customer & { subscription: number }

const SECRET = 'the-secret-of-bob'
const SSH =
  '-i /root/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -o LogLevel=ERROR'

const node = await usingAgentNode()
const { machine, panel, create, deploy, visit } = node
let mallory: Owner
let bob: Owner
let hers: Site
let his: Site
/** A site of his in the trash. */
let deleted: Site
/** Where her served release is, for her. */
let own: string
/** Where his is, on the node. */
let release: string

if (machine) {
  await setUp(machine, 'apply')
  await machine.bash(
    "ssh-keygen -A >/dev/null; mkdir -p /run/sshd; ssh-keygen -q -t ed25519 -N '' -f /root/key; echo hers >/root/hers.txt",
  )
  const sshd = machine.spawn(['/usr/sbin/sshd', '-D', '-e'])
  await until('sshd', async () => {
    if (sshd.hasEnded()) throw new Error(sshd.stderr())
    return (await machine.run(['bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/22'])).exitCode === 0
  })
  node.start()
  mallory = await node.customer()
  bob = await node.customer()
  hers = await create(mallory, { kind: 'php' })
  his = await create(bob, { kind: 'php' })
  deleted = await create(bob)
  await deploy(bob, deleted, { 'index.html': SECRET })
  await deploy(mallory, hers, {
    'index.html': 'hers',
    'read.php': '<?php echo @file_get_contents($_GET["path"]), @include $_GET["path"], posix_getuid();',
  })
  await deploy(bob, his, {
    'index.html': 'his',
    'secret.txt': SECRET,
    'config.php': `<?php echo '${SECRET}'; return '${SECRET}';`,
  })
  await panel.delete(`/sites/${deleted.id}`, bob.token)
  own = `/sites/${hers.id}/releases/1`
  release = `${siteOf(layout, bob.subscription, his.id)}/releases/1`
  await until('the trash', async () => (await machine.bash(`ls ${layout.trash}`)).includes(`-${deleted.id}-`))
  // As careless as a customer can be.
  await machine.bash(`chmod -R a+rwX ${release}`)
  const public_key = await machine.bash('cat /root/key.pub')
  await panel.post(`/subscriptions/${mallory.subscription}/ssh-keys`, mallory.token, { public_key })
  await until('the key', async () => (await sftp('pwd')).exitCode === 0)
}

/** Every command is tried, whatever became of those before. */
function sftp(...commands: string[]) {
  return machine.run(
    ['bash', '-c', `rm -rf /root/got; mkdir /root/got; sftp ${SSH} -b - ${userOf(mallory.subscription)}@127.0.0.1`],
    {
      stdin: commands.map((command) => (commands.length > 1 ? `-${command}\n` : `${command}\n`)).join(''),
    },
  )
}

/** Files, directories and links with their owners, modes and contents, as root sees them. */
const listing = (...paths: string[]) =>
  machine.bash(
    `find ${paths.join(' ')} -printf '%p %y %U %G %m %l %s\\n' | sort; find ${paths.join(' ')} -type f -exec sha256sum {} + | sort`,
  )

/** What she aims at, as the node sees it. */
const targets = (): Record<string, string> => ({
  file: `${release}/secret.txt`,
  script: `${release}/config.php`,
  directory: release,
  home: `${layout.sites}/${userOf(bob.subscription)}`,
  name: `${layout.names}/${his.domain}/pub/secret.txt`,
  view: `${release.replace(layout.sites, layout.view)}/secret.txt`,
  names: layout.names,
  trash: layout.trash,
  keys: layout.certificateKeys,
  logs: layout.logs,
  sshKeys: layout.sshKeys,
  configuration: layout.webConfiguration,
  token: layout.nodeToken,
  passwd: '/etc/passwd',
  relative: `../../../../../${userOf(bob.subscription)}/sites/${his.id}/releases/1/secret.txt`,
})

describe('over SFTP a customer', () => {
  nodeTest('lists and fetches nothing of another or of the node, by no path and by no link', async () => {
    const all = Object.entries(targets())
    for (const [, path] of all)
      expect(
        (await machine.run(['test', '-e', path.replace(/^\.\..*\/ncp-s/, `${layout.sites}/ncp-s`)])).exitCode,
      ).toBe(0)
    const { stdout } = await sftp(
      `ls ${own}`,
      ...all.flatMap(([name, path]) => [
        `ls -la ${path}`,
        `get -r ${path} /root/got/direct-${name}`,
        `get /../../..${path} /root/got/above-${name}`,
        `ln -s ${path} ${own}/link-${name}`,
        `get -r ${own}/link-${name} /root/got/link-${name}`,
        `ls -la ${own}/link-${name}/`,
        `ln ${path} ${own}/hard-${name}`,
        `get ${own}/hard-${name} /root/got/hard-${name}`,
      ]),
    )
    expect(stdout).toContain(`${own}/index.html`)
    const listed = stdout.split('\n').filter((line) => /^[-dl][rwx-]{9}/.test(line))
    expect(listed.filter((line) => !line.includes(' link-') && !line.includes(`${own}/`))).toEqual([])
    expect(await machine.bash('find /root/got -type f')).toBe('')
    // The links are hers, and only of use to nobody.
    expect(await machine.bash(`find ${layout.sites}/${userOf(mallory.subscription)}${own} -name 'hard-*'`)).toBe('')
  })

  nodeTest('has nothing served through links that it has made', async () => {
    const names = Object.keys(targets())
    const { stdout } = await sftp(`ls -1 ${own}`, 'pwd')
    expect(names.filter((name) => !stdout.includes(`/link-${name}`))).toEqual([])
    for (const name of names) {
      for (const path of [
        `/link-${name}`,
        `/link-${name}/`,
        `/link-${name}/secret.txt`,
        `/link-${name}/${his.domain}`,
      ]) {
        const { status, text } = await visit(hers.domain, path)
        expect([path, status, text.includes(SECRET)]).toEqual([path, 404, false])
      }
    }
    await sftp(
      `rm ${own}/index.html`,
      `ln -s ${targets().file} ${own}/index.html`,
      `ln -s ${targets().file} ${own}/404.html`,
      `ln -s ${targets().script} ${own}/his.php`,
    )
    for (const path of ['/', '/index.html', '/404.html', '/none', '/his.php']) {
      expect([path, (await visit(hers.domain, path)).text.includes(SECRET)]).toEqual([path, false])
    }
  })

  nodeTest('gives its scripts no way to another: by links, by .user.ini, as another user', async () => {
    const uid = `${200_000 + mallory.subscription}`
    await machine.bash(`cp ${layout.sites}/${userOf(mallory.subscription)}${own}/read.php /root/read.php
      echo 'open_basedir = /' >/root/border.ini
      echo 'auto_prepend_file = ${targets().script}' >/root/prepend.ini`)
    await sftp(
      'lcd /root',
      ...['border', 'prepend'].flatMap((name) => [
        `mkdir ${own}/${name}`,
        `put ${name}.ini ${own}/${name}/.user.ini`,
        `put read.php ${own}/${name}/read.php`,
        `chmod 4777 ${own}/${name}/read.php`,
      ]),
    )
    for (const script of ['/read.php', '/border/read.php', '/prepend/read.php']) {
      for (const name of ['link-file', 'link-directory/secret.txt', 'link-script', 'link-relative', 'link-name']) {
        const { text } = await visit(
          hers.domain,
          `${script}?path=${own.replace(/^/, `${layout.sites}/${userOf(mallory.subscription)}`)}/${name}`,
        )
        expect([script, name, text.includes(SECRET)]).toEqual([script, name, false])
      }
    }
    // Both run, and what is hers they read.
    for (const script of ['/read.php', '/border/read.php']) {
      const { text } = await visit(hers.domain, `${script}?path=${encodeURIComponent('data:,hers-')}`)
      expect([script, text]).toEqual([script, expect.stringMatching(new RegExp(`^hers-.*${uid}$`))])
    }
  })

  nodeTest('changes nothing that is root’s, and puts nothing where root works', async () => {
    const home = `${layout.sites}/${userOf(mallory.subscription)}`
    const roots = [`${home} -maxdepth 3 -not -path '*/releases/1*' -not -path '*/shared/*' -not -path '*/tmp/*'`]
    const before = await listing(...roots)
    const site = `/sites/${hers.id}`
    const put = (path: string) => `put /root/hers.txt ${path}`
    await sftp(
      ...['/x', '/.ssh', '/sites/x', `${site}/x`, `${site}/releases/x`, `${site}/current.new`].flatMap((path) => [
        put(path),
        `mkdir ${path}`,
        `ln -s /etc ${path}`,
      ]),
      ...['/sites', site, `${site}/releases`, `${site}/current`, `${site}/shared`, `${site}/tmp`].flatMap((path) => [
        `rename ${path} ${site}/shared/moved`,
        `rename ${path} ${path}.old`,
        `rm ${path}`,
        `rmdir ${path}`,
        `chown 0 ${path}`,
        `chgrp ${200_000 + bob.subscription} ${path}`,
      ]),
      ...['/', '/sites', site, `${site}/releases`].map((path) => `chmod 777 ${path}`),
      `rename ${own} ${site}/releases/99`,
      `chown ${200_000 + bob.subscription} ${own}/read.php`,
    )
    expect(await listing(...roots)).toBe(before)
    expect(await machine.bash(`stat -c %U ${home}${own}/read.php`)).toBe(`${userOf(mallory.subscription)}\n`)
  })

  nodeTest('writes nothing of another', async () => {
    const before = await listing(release, layout.sshKeys)
    await sftp(
      ...['file', 'directory', 'relative', 'sshKeys'].flatMap((name) => [
        `put /root/hers.txt ${own}/link-${name}`,
        `put /root/hers.txt ${own}/link-${name}/x`,
        `put /root/hers.txt ${targets()[name]}`,
        `rm ${targets()[name]}`,
        `chmod 600 ${own}/link-${name}`,
      ]),
    )
    expect(await listing(release, layout.sshKeys)).toBe(before)
  })

  nodeTest('does not log in as another, with no name of an account', async () => {
    for (const user of [
      userOf(bob.subscription),
      'ncp-web',
      'ncp',
      'root',
      `${userOf(mallory.subscription)}/../${userOf(bob.subscription)}`,
    ]) {
      const { stdout } = await machine.run(['bash', '-c', `sftp ${SSH} -b - '${user}@127.0.0.1'`], { stdin: 'ls /\n' })
      expect([user, stdout.includes('/sites')]).toEqual([user, false])
    }
  })
})

describe('by name a customer', () => {
  nodeTest(
    'takes none of another: not as domain or alias, not below or above it, in no spelling, in no certificate',
    async () => {
      const { domain } = his
      const names = [
        domain,
        domain.toUpperCase(),
        `${domain}.`,
        `www.${domain}`,
        `*.${domain}`,
        `*.${domain.split('.').at(-1)}`,
        domain.replace('e', 'ｅ'),
        `${domain}/`,
        `${domain}:80`,
        `x@${domain}`,
        `.${domain}`,
        `${domain}\n`,
        `${domain}\0`,
      ]
      for (const name of names) {
        for (const change of [{ domain: name }, { aliases: [name] }]) {
          const { status } = await panel.patch(`/sites/${hers.id}`, mallory.token, change)
          expect([name, [409, 422].includes(status)]).toEqual([name, true])
          expect([409, 422]).toContain(
            (await panel.post('/sites', mallory.token, { domain: `fresh-${status}.example`, ...change })).status,
          )
        }
      }
      await node.observed(mallory, hers)
      expect((await visit(domain)).text).toBe('his')
      // Both ways to its own site stay.
      for (const host of [domain.toUpperCase(), `${domain}.`])
        expect([host, (await visit(domain, '/', { headers: { host } })).text]).toEqual([host, 'his'])
      expect((await machine.bash(`ls ${layout.names}`)).trim().split('\n').sort()).toEqual([hers.domain, domain].sort())
    },
  )
})

nodeTest('after all that, he is served as before', async () => {
  expect((await visit(his.domain)).text).toBe('his')
  expect((await visit(his.domain, '/secret.txt')).text).toBe(SECRET)
  expect((await visit(his.domain, '/config.php')).text).toBe(SECRET)
})
