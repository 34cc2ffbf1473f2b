/** What PHP itself makes of the settings of a site, asked over FastCGI. */
import { expect } from 'bun:test'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { logsOf, siteOf, uidOf } from '../../../src/agent/layout.ts'
import { processesOf } from '../../../src/agent/processes.ts'
import { DEFAULT_PHP_LIMITS, PHP_DIRECTIVES, type PhpDirective, type PhpSettings } from '../../../src/node/php.ts'
import { phpTest, sitePhp, usePhpNode, wanted } from '../../harness/php.ts'

const node = usePhpNode()
const { layout, masters } = node

/** A value other than the default, and what ini_get gives then. */
function sample(directive: PhpDirective): [value: boolean | number | string, shown: string] {
  switch (directive.type) {
    case 'flag':
      return [true, '1']
    case 'integer':
      return [directive.minimum, `${directive.minimum}`]
    case 'size':
      return [`${directive.minimum}M`, `${directive.minimum}M`]
    case 'choice':
      return [directive.values.at(-1) ?? '', directive.values.at(-1) ?? '']
    case 'text':
      return [directive.example, directive.example]
  }
}

phpTest('each directive reaches the script as it was set', async () => {
  const id = node.subscription()
  node.write(id, 41, { 'all.php': '<?php echo json_encode(ini_get_all(null, false));' })
  const samples = Object.entries(PHP_DIRECTIVES).map(([name, directive]) => [name, sample(directive)] as const)
  const settings: PhpSettings = Object.fromEntries(samples.map(([name, [value]]) => [name, value]))
  await masters.apply(wanted(id, [{ id: 41, php: sitePhp(settings) }]))
  const seen = JSON.parse((await node.ask(id, 41, 'all.php')).body) as Record<string, string>
  expect(samples.map(([name]) => [name, flagless(seen[name])])).toEqual(
    samples.map(([name, [, shown]]) => [name, shown]),
  )
})

/** PHP shows a flag as it was written. */
const flagless = (shown: string | undefined) => (shown === 'on' ? '1' : shown)

phpTest('flags are off when they are set to false', async () => {
  const id = node.subscription()
  node.write(id, 42, { 'all.php': '<?php echo json_encode(ini_get_all(null, false));' })
  const flags = Object.entries(PHP_DIRECTIVES).flatMap(([name, { type }]) => (type === 'flag' ? [name] : []))
  const settings: PhpSettings = Object.fromEntries(flags.map((name) => [name, false]))
  await masters.apply(wanted(id, [{ id: 42, php: sitePhp(settings) }]))
  const seen = JSON.parse((await node.ask(id, 42, 'all.php')).body) as Record<string, string>
  for (const name of flags) expect([name, seen[name]]).toEqual([name, expect.stringMatching(/^(?:off|0|)$/)])
})

const PROBE = `<?php
echo json_encode([
    'tmp' => sys_get_temp_dir(),
    'session' => (session_start() ? session_save_path() : null),
    'raised' => ini_set('memory_limit', '2G'),
    'basedir' => ini_set('open_basedir', '/'),
    'parent' => @file_get_contents('/etc/passwd') === false,
    'written' => file_put_contents(tempnam(sys_get_temp_dir(), 'x'), 'y'),
    'timezone' => date_default_timezone_get(),
    'mail' => ini_get('sendmail_path'),
]);
header('X-Test: 1');
error_log("first\\nsecond");`

phpTest('a site has a tmp directory, sessions and an error log of its own, and cannot raise its limits', async () => {
  const id = node.subscription()
  node.write(id, 43, { 'index.php': PROBE })
  const site = siteOf(layout, id, 43)
  await masters.apply(wanted(id, [{ id: 43 }]))
  const answer = await node.ask(id, 43, 'index.php')
  expect(JSON.parse(answer.body)).toEqual({
    tmp: join(site, 'tmp'),
    session: join(site, 'sessions'),
    raised: false,
    basedir: false,
    parent: true,
    written: 1,
    timezone: 'UTC',
    mail: '/usr/sbin/sendmail -t -i',
  })
  expect(answer.headers.get('x-powered-by')).toBeNull()
  expect(readFileSync(join(logsOf(layout, id, 43), 'php.log'), 'utf8')).toContain('first\nsecond')
})

phpTest('.user.ini of a release cannot take a border away', async () => {
  const id = node.subscription()
  node.write(id, 44, {
    '.user.ini': 'open_basedir = /\nmemory_limit = 2G\nerror_log = /tmp/ncp-other.log\ndisplay_errors = On\n',
    'index.php': '<?php echo json_encode(array_map("ini_get", ["open_basedir", "memory_limit", "display_errors"]));',
  })
  await masters.apply(wanted(id, [{ id: 44 }]))
  const [basedir, memory, display] = JSON.parse((await node.ask(id, 44, 'index.php')).body)
  expect(basedir).toStartWith(`${siteOf(layout, id, 44)}/:`)
  expect([memory, display]).toEqual(['256M', '1'])
})

phpTest('a request ends at the time that the subscription allows, and the memory too', async () => {
  const id = node.subscription()
  node.write(id, 45, {
    'long.php': '<?php sleep(60); echo "never";',
    'large.php': '<?php $text = str_repeat("x", 50 * 1024 * 1024); echo "never";',
    'index.php': '<?php echo "well";',
  })
  const limits = { ...DEFAULT_PHP_LIMITS, seconds: 5, memoryMb: 32 }
  await masters.apply(wanted(id, [{ id: 45 }], { php: limits }))
  // FPM ends its process, and the connection with it.
  await expect(node.ask(id, 45, 'long.php')).rejects.toThrow()
  expect((await node.ask(id, 45, 'large.php')).status).toBe(500)
  expect((await node.ask(id, 45, 'index.php')).body).toBe('well')
})

phpTest('requests of a site beyond its workers wait, and are served', async () => {
  const id = node.subscription()
  node.write(id, 46, { 'index.php': '<?php usleep(200000); echo getmypid();' })
  await masters.apply(wanted(id, [{ id: 46 }], { php: { ...DEFAULT_PHP_LIMITS, workers: 2 } }))
  const answers = await Promise.all(Array.from({ length: 8 }, () => node.ask(id, 46, 'index.php')))
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
  expect(new Set(answers.map(({ body }) => body)).size).toBeLessThanOrEqual(2)
})

phpTest('a fork bomb of one customer is bounded, and others are served', async () => {
  const bomb = node.subscription()
  const other = node.subscription()
  node.write(bomb, 47, {
    'index.php': '<?php echo shell_exec("for i in $(seq 500); do sleep 60 >/dev/null 2>&1 & done; jobs -p | wc -l");',
  })
  node.write(other, 48, { 'index.php': '<?php echo shell_exec("echo well");' })
  await masters.apply(wanted(bomb, [{ id: 47 }]))
  await masters.apply(wanted(other, [{ id: 48 }]))
  const { body } = await node.ask(bomb, 47, 'index.php')
  expect(Number(body?.trim() || 0)).toBeLessThan(80)
  expect(processesOf(uidOf(bomb)).length).toBeLessThan(80)
  expect((await node.ask(other, 48, 'index.php')).body).toBe('well\n')
})

phpTest('only .php is executed', async () => {
  const id = node.subscription()
  node.write(id, 49, { 'x.phtml': '<?php echo "run";', 'pic.jpg': '<?php echo "run";', 'a.php': '<?php echo "run";' })
  await masters.apply(wanted(id, [{ id: 49 }]))
  expect((await node.ask(id, 49, 'x.phtml')).status).toBe(403)
  expect((await node.ask(id, 49, 'pic.jpg')).status).toBe(403)
  expect((await node.ask(id, 49, 'a.php')).body).toBe('run')
})

phpTest('where a site says so, no PHP is executed, whatever the way to it', async () => {
  const id = node.subscription()
  const run = '<?php echo "run ", __FILE__;'
  node.write(id, 50, {
    'index.php': '<?php echo "front ", file_exists(__DIR__ . "/wp-content/uploads/x.php") ? "sees" : "blind";',
    'wp-content/uploads/x.php': run,
    'wp-content/uploads/deep/er/x.php': run,
    'wp-content/uploads-not/x.php': run,
    'wp-content/x.php': run,
    'wp-content/uploads/.user.ini': 'auto_prepend_file =\n',
  })
  const served = join(siteOf(layout, id, 50), 'releases', '1')
  symlinkSync('wp-content/uploads', join(served, 'pictures'))
  await masters.apply(wanted(id, [{ id: 50, php: sitePhp({}, ['wp-content/uploads', 'files']) }]))
  const statusOf = async (script: string) => (await node.ask(id, 50, script)).status
  expect(await statusOf('wp-content/uploads/x.php')).toBe(404)
  expect(await statusOf('wp-content/uploads/deep/er/x.php')).toBe(404)
  expect(await statusOf('pictures/x.php')).toBe(404)
  expect((await node.ask(id, 50, 'wp-content/uploads/x.php')).body).toBe('Not found\n')
  expect((await node.ask(id, 50, 'wp-content/uploads-not/x.php')).body).toStartWith('run')
  expect((await node.ask(id, 50, 'wp-content/x.php')).body).toStartWith('run')
  expect((await node.ask(id, 50, 'index.php')).body).toBe('front sees')
})
