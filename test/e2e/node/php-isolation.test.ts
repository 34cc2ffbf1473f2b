/** What code of one customer can do to another, to the node and to the panel: all of it is tried by real PHP, as root could. */
import { describe, expect } from 'bun:test'
import { homeOf, siteOf, uidOf } from '../../../src/agent/layout.ts'
import { layout, type Site, usingAgentNode } from '../../harness/agent-node.ts'
import { nodeTest } from '../../harness/node-machine.ts'
import type { Customer } from '../../harness/panel.ts'

const SECRET = 'the-secret-of-bob'

const node = await usingAgentNode()
const { machine, create, deploy, observed, visit } = node
let mallory: Customer & { subscription: number }
let bob: Customer & { subscription: number }
let hers: Site
let his: Site
/** Where Bob's site lies. */
let home: string
let release: string
let bobsMaster: number

/** Code that Mallory has on her site: it runs what it is sent, in PHP and in a shell. */
const RUN = `<?php
$input = file_get_contents('php://input');
if ($_GET['as'] === 'php') { echo json_encode(eval($input)); exit; }
file_put_contents(__DIR__ . '/../../tmp/script', $input);
exec('sh ' . __DIR__ . '/../../tmp/script 2>&1', $lines, $code);
echo json_encode(['code' => $code, 'output' => implode("\\n", $lines)]);`

nodeTest('two customers have sites, sessions, files and processes', async () => {
  node.start()
  mallory = await node.customer()
  bob = await node.customer()
  hers = await create(mallory, { kind: 'php' })
  his = await create(bob, { kind: 'php' })
  await deploy(mallory, hers, { 'run.php': RUN })
  await deploy(bob, his, {
    'index.php': `<?php session_start(); $_SESSION['user'] = '${SECRET}';
      file_put_contents(sys_get_temp_dir() . '/upload', '${SECRET}');
      error_log('${SECRET}'); putenv('KEY=${SECRET}');
      echo json_encode([posix_getppid(), session_id()]);`,
    'config.php': `<?php const PASSWORD = '${SECRET}';`,
    'open.txt': SECRET,
  })
  await observed(bob, his)
  const { text } = await visit(his.domain)
  bobsMaster = (JSON.parse(text) as [number, string])[0]
  home = homeOf(layout, bob.subscription)
  release = `${siteOf(layout, bob.subscription, his.id)}/releases/1`
  // As careless as a customer can be.
  await machine.bash(`chmod -R a+rwX ${siteOf(layout, bob.subscription, his.id)}/releases/1`)
  expect((await shell('id -u')).output).toBe(`${uidOf(mallory.subscription)}`)
  expect(await php('return posix_getuid();')).toBe(uidOf(mallory.subscription))
})

async function send(as: 'php' | 'shell', body: string): Promise<string> {
  const { status, text } = await visit(hers.domain, `/run.php?as=${as}`, { method: 'POST', body })
  expect([body, status, text]).toEqual([body, 200, text])
  return text
}
const shell = async (command: string) => JSON.parse(await send('shell', command)) as { code: number; output: string }
const php = async (code: string): Promise<unknown> => JSON.parse(await send('php', code))

/** Each with what it is about; root can do all of them, or there is nothing to see. */
const reads: [what: string, command: () => string][] = [
  ['his code', () => `cat ${release}/config.php`],
  ['his files, whatever modes he has set', () => `cat ${release}/open.txt`],
  ['his site', () => `ls ${siteOf(layout, bob.subscription, his.id)}`],
  ['his home', () => `ls ${home}`],
  ['his sessions', () => `cat ${siteOf(layout, bob.subscription, his.id)}/sessions/*`],
  ['his temporary files', () => `cat ${siteOf(layout, bob.subscription, his.id)}/tmp/upload`],
  ['his log', () => `cat ${layout.logs}/ncp-s${bob.subscription}/${his.id}/php.log`],
  ['the environment of his processes', () => `cat /proc/${bobsMaster}/environ`],
  ['the memory of his processes', () => `cat /proc/${bobsMaster}/maps`],
  ['the files that his processes have open', () => `ls /proc/${bobsMaster}/fd/`],
  ['his files through his process', () => `ls /proc/${bobsMaster}/cwd/`],
  ['the configuration of his PHP', () => `cat ${layout.phpSettings}/${bob.subscription}-*.conf`],
  ['the names of all subscriptions with PHP', () => `ls ${layout.phpSettings}`],
  ['the sockets of all sites', () => `ls ${layout.phpSockets}`],
  ['the names of all sites', () => `ls ${layout.names}`],
  ['what sites serve', () => `ls ${layout.generations}`],
  ['his site as the web server sees it', () => `cat ${release.replace(layout.sites, layout.view)}/open.txt`],
  ['his site through its name', () => `cat ${layout.names}/${his.domain}/pub/open.txt`],
  ['the access log', () => `cat ${layout.webLogs}/access.log`],
  ['certificates and keys', () => `ls ${layout.certificates}/by-name`],
  ['what the agent remembers', () => `cat ${layout.agent}/memory.json`],
  ['the trash', () => `ls ${layout.trash}`],
  ['the settings of the web server', () => `cat ${layout.webConfiguration}`],
  ['which generation is served', () => `ls ${layout.probe}`],
  ['the passwords of the machine', () => 'cat /etc/shadow'],
  ['the environment of the agent', () => `cat /proc/$(pgrep -f node-agent | head -1)/environ`],
]

describe('code of another customer cannot read', () => {
  for (const [what, command] of reads) {
    nodeTest(what, async () => {
      expect([what, (await machine.run(['sh', '-c', command()])).exitCode]).toEqual([what, 0])
      const { code, output } = await shell(command())
      expect([what, code === 0, output.includes(SECRET)]).toEqual([what, false, false])
      expect(output).toMatch(/denied|No such file|cannot/)
    })
  }
})

const changes: [what: string, command: () => string][] = [
  ['his files', () => `echo x >>${release}/open.txt`],
  ['his log', () => `echo x >>${layout.logs}/ncp-s${bob.subscription}/${his.id}/php.log`],
  ['what a name leads to', () => `ln -s /etc/passwd ${layout.names}/mine.example`],
  ['the sockets', () => `rm ${layout.phpSockets}/${his.id}.sock`],
  ['her own socket', () => `mv ${layout.phpSockets}/${hers.id}.sock ${layout.phpSockets}/x.sock`],
  ['the place of a socket to come', () => `ln -s /tmp ${layout.phpSockets}/99999.sock`],
  ['the configuration of her PHP', () => `echo x >>${layout.phpSettings}/${mallory.subscription}-8.2.conf`],
  [
    'the place of her log',
    () =>
      `mv ${layout.logs}/ncp-s${mallory.subscription}/${hers.id}/php.log ${layout.logs}/ncp-s${mallory.subscription}/${hers.id}/x`,
  ],
  ['her site’s directory', () => `mkdir ${siteOf(layout, mallory.subscription, hers.id)}/x`],
  ['her releases’ directory', () => `mkdir ${siteOf(layout, mallory.subscription, hers.id)}/releases/99`],
  ['the view', () => `touch ${layout.view}/x`],
  ['his processes', () => `kill -KILL ${bobsMaster}`],
  ['the web server', () => `kill -KILL $(pgrep -o nginx)`],
  ['the agent', () => `kill -KILL $(pgrep -f node-agent | head -1)`],
  [
    'her identity',
    () => `setpriv --reuid=${uidOf(bob.subscription)} --regid=${uidOf(bob.subscription)} --clear-groups id`,
  ],
  ['her rights, by a program of root’s', () => 'su -c id'],
  ['settings of the kernel', () => 'echo 1 >/proc/sys/vm/drop_caches'],
]

describe('code of another customer cannot change', () => {
  for (const [what, command] of changes) {
    nodeTest(what, async () => {
      const { code } = await shell(command())
      expect([what, code === 0]).toEqual([what, false])
    })
  }
})

describe('PHP of another customer cannot', () => {
  const connect = (path: string) =>
    `$socket = @stream_socket_client('unix://${path}', $code, $text, 2); return [$socket !== false, $code];`

  nodeTest('connect to his PHP, nor to its own past the web server', async () => {
    for (const site of [his, hers]) {
      expect(await php(connect(`${layout.phpSockets}/${site.id}.sock`))).toEqual([false, 13])
    }
    // It is not that it could connect to nothing at all.
    expect(
      await php(
        "$server = stream_socket_server('unix://' . sys_get_temp_dir() . '/own.sock'); return $server !== false;",
      ),
    ).toBe(true)
  })

  nodeTest('ask the web server which generation is served, or the agent anything', async () => {
    expect(await php(connect(layout.probeSocket))).toEqual([false, 13])
    expect(await php(connect(layout.candidateSocket))).toEqual([false, 13])
    expect(
      (await shell('ls /proc/net/unix >/dev/null; cat /proc/net/tcp /proc/net/tcp6 | grep -c " 0A "')).output,
    ).toMatch(/^\d+$/)
  })

  nodeTest('see his scripts in the cache of compiled code', async () => {
    const scripts = await php('return array_keys(opcache_get_status(true)["scripts"] ?? []);')
    expect(scripts).toEqual([expect.stringContaining(`/ncp-s${mallory.subscription}/`)])
  })

  nodeTest('leave its own directory, nor set that rule aside', async () => {
    expect(await php(`return @file_get_contents('${release}/open.txt');`)).toBe(false)
    expect(await php("return [ini_set('open_basedir', '/'), @file_get_contents('/etc/passwd')];")).toEqual([
      false,
      false,
    ])
    expect(
      await php(`symlink('${release}', sys_get_temp_dir() . '/link'); return @scandir(sys_get_temp_dir() . '/link');`),
    ).toBe(false)
  })

  nodeTest('take over his session by its name', async () => {
    const [, id] = JSON.parse((await visit(his.domain)).text) as [number, string]
    expect(await php(`session_id('${id}'); session_start(); return $_SESSION;`)).toEqual([])
    expect(
      await php(
        `session_write_close(); ini_set('session.save_path', '${siteOf(layout, bob.subscription, his.id)}/sessions'); return ini_get('session.save_path');`,
      ),
    ).toBe(`${siteOf(layout, mallory.subscription, hers.id)}/sessions`)
  })

  nodeTest('have the web server read his files or the node’s by a link, hard or symbolic', async () => {
    const served = `${siteOf(layout, mallory.subscription, hers.id)}/releases/1`
    const targets = [`${release}/open.txt`, '/etc/passwd', `${layout.agent}/memory.json`, layout.webConfiguration]
    for (const [index, target] of targets.entries()) {
      await shell(`ln -sf ${target} ${served}/link${index}.txt; ln ${target} ${served}/hard${index}.txt`)
      for (const name of ['link', 'hard']) {
        const { status, text } = await visit(hers.domain, `/${name}${index}.txt`)
        expect([target, name, status, text.includes(SECRET)]).toEqual([target, name, 404, false])
      }
    }
  })

  nodeTest('run a script of his, as him or as itself', async () => {
    const served = `${siteOf(layout, mallory.subscription, hers.id)}/releases/1`
    await shell(`ln -sf ${release}/config.php ${served}/his.php; ln -sf ${release} ${served}/dir`)
    for (const path of ['/his.php', '/dir/config.php', '/dir/index.php']) {
      const { status, text } = await visit(hers.domain, path)
      expect([path, status === 200 && text !== '', text.includes(SECRET)]).toEqual([path, false, false])
    }
  })
})

nodeTest('after all that, he is served as before', async () => {
  const { status, text } = await visit(his.domain)
  expect([status, (JSON.parse(text) as [number])[0]]).toEqual([200, bobsMaster])
  expect((await visit(his.domain, '/open.txt')).text).toBe(SECRET)
})
