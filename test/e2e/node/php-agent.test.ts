/** PHP sites on a node, from a request to the API to what a visitor gets of nginx and PHP-FPM. */
import { describe, expect } from 'bun:test'
import { uidOf } from '../../../src/agent/layout.ts'
import { layout, type Site, usingAgentNode } from '../../harness/agent-node.ts'
import { nodeTest } from '../../harness/node-machine.ts'
import type { Customer } from '../../harness/panel.ts'
import { until } from '../../harness/until.ts'

type PhpSite = Site & { php_version: string }

const node = await usingAgentNode()
const { machine, panel, create, observed, deploy, upload, visit } = node
let ada: Customer & { subscription: number }
if (machine) {
  node.start()
  ada = await node.customer()
}

const WHO =
  '<?php echo json_encode(["uid" => posix_getuid(), "master" => posix_getppid(), "uri" => $_SERVER["REQUEST_URI"]]);'
type Who = { uid: number; master: number; uri: string }

const createPhp = (owner: Customer = ada, body: object = {}) =>
  create(owner, { kind: 'php', ...body }) as Promise<PhpSite>
async function deployed(files: Record<string, string>, body: object = {}, owner: Customer = ada): Promise<PhpSite> {
  const site = await createPhp(owner, body)
  expect((await deploy(owner, site, files)).status).toBe('active')
  return site
}
const change = (site: Site, body: object) => panel.patch<Site>(`/sites/${site.id}`, ada.token, body)
async function failureOfDeployment(site: Site, id: number): Promise<string> {
  await node.endOf(ada, site, id)
  const { data } = await panel.get<{ failure: { message: string } | null }>(
    `/sites/${site.id}/deployments/${id}`,
    ada.token,
  )
  return data.failure?.message ?? ''
}
const textOf = async (site: Site, path = '/') => (await visit(site.domain, path)).text
const whoOf = async (site: Site, path = '/') => JSON.parse(await textOf(site, path)) as Who
const pidsOf = async (subscription: number) =>
  (await machine.run(['pgrep', '-U', `${uidOf(subscription)}`])).stdout.trim()

describe('a PHP site', () => {
  nodeTest('runs as the user of its subscription, from the first request on', async () => {
    const site = await createPhp()
    expect(site.php_version).toMatch(/^\d+\.\d+$/)
    expect((await observed(ada, site)).status).toBe('active')
    expect(await textOf(site)).toContain('waits for its first deployment')
    await deploy(ada, site, { 'index.php': WHO, 'style.css': 'body{}' })
    expect(await whoOf(site)).toEqual({ uid: uidOf(ada.subscription), master: expect.any(Number), uri: '/' })
    expect(await textOf(site, '/style.css')).toBe('body{}')
  })

  nodeTest('has a front controller, as WordPress expects it', async () => {
    const site = await deployed({ 'index.php': WHO, 'wp-admin/index.php': WHO, 'about.html': 'about' })
    for (const path of ['/?p=7', '/index.php?p=7', '/2026/12/a-post/', '/wp-json/wp/v2/posts?page=2', '/wp-admin/']) {
      expect([path, (await whoOf(site, path)).uri]).toEqual([path, path])
    }
    expect(await textOf(site, '/about.html')).toBe('about')
    expect((await visit(site.domain, '/wp-login.php')).status).toBe(200)
  })

  nodeTest('serves its public directory, and includes what is beside it', async () => {
    const site = await deployed({
      'public/index.php': '<?php require __DIR__ . "/../src/app.php"; echo $said;',
      'src/app.php': '<?php $said = "from beside";',
    })
    expect(await textOf(site)).toBe('from beside')
    expect(await textOf(site, '/src/app.php')).toBe('from beside')
  })

  nodeTest('runs the new release at once, and 150 requests during five of them are all answered', async () => {
    const release = (number: number) => ({
      'index.php': '<?php require "part.php";',
      'part.php': `<?php echo ${number};`,
    })
    const site = await deployed(release(0))
    let isDone = false
    const statuses: number[] = []
    const asking = (async () => {
      while (!isDone || statuses.length < 150) statuses.push((await visit(site.domain)).status)
    })()
    for (let number = 1; number <= 5; number++) {
      expect((await deploy(ada, site, release(number))).status).toBe('active')
      for (let again = 0; again < 3; again++) expect(await textOf(site)).toBe(`${number}`)
    }
    isDone = true
    await asking
    expect([statuses.length >= 150, new Set(statuses)]).toEqual([true, new Set([200])])
  })

  nodeTest('gets its settings and limits, without a reload of nginx', async () => {
    const nginx = await machine.bash(`pgrep -P $(cat ${layout.webPid}) | sort | tr '\\n' ' '`)
    const site = await deployed({ 'index.php': '<?php echo ini_get("memory_limit"), " ", ini_get("date.timezone");' })
    expect(await textOf(site)).toBe('256M UTC')
    await change(site, { php_settings: { memory_limit: '96M', 'date.timezone': 'Europe/Berlin' } })
    expect((await observed(ada, site)).status).toBe('active')
    expect(await textOf(site)).toBe('96M Europe/Berlin')
    const admin = await panel.admin()
    await panel.patch(`/admin/subscriptions/${ada.subscription}`, admin, { php_memory_mb: 64 })
    await observed(ada, site)
    expect(await textOf(site)).toBe('64M Europe/Berlin')
    await panel.patch(`/admin/subscriptions/${ada.subscription}`, admin, { php_memory_mb: 256 })
    await observed(ada, site)
    expect(await machine.bash(`pgrep -P $(cat ${layout.webPid}) | sort | tr '\\n' ' '`)).toBe(nginx)
  })

  nodeTest('finds its variables in its environment, byte for byte, and no other subscription starts anew', async () => {
    const value = `a"b;c\n[global]\n$PATH \${PATH} $pool \\ é \u0001`
    const bob = await node.customer()
    const others = await deployed({ 'index.php': WHO }, {}, bob)
    const before = await whoOf(others)
    const files = {
      'index.php':
        '<?php echo json_encode([getenv("SECRET"), $_SERVER["SECRET"] ?? null, getenv("EMPTY"), getenv("TMP"), getenv("LD_PRELOAD")]);',
    }
    const site = await deployed(files)
    const second = await deployed(files)
    const put = async ({ id }: Site, variables: object[]) =>
      expect((await panel.send('PUT', `/sites/${id}/environment`, { as: ada.token, body: { variables } })).status).toBe(
        200,
      )
    await put(site, [
      { name: 'SECRET', value },
      { name: 'EMPTY', value: '' },
    ])
    await put(second, [{ name: 'SECRET', value: 'second' }])
    const tmpOf = ({ document_root }: Site) => expect.stringContaining(document_root.replace(/current.*$/, 'tmp'))
    expect((await observed(ada, site)).status).toBe('active')
    expect((await observed(ada, second)).status).toBe('active')
    const shown = await observed(ada, site)
    const read = async (of: Site) => JSON.parse(await textOf(of))
    expect(await read(site)).toEqual([value, value, '', tmpOf(shown), false])
    expect((await read(second)).slice(0, 3)).toEqual(['second', 'second', false])
    // Nowhere on the disk of the node, and out of the reach of other users.
    const found = await machine.run(['grep', '-rlF', 'a"b;c', '/etc/ncp', '/run/ncp/fpm', '/srv/ncp', '/var/log/ncp'])
    expect(found.stdout).toBe('')
    expect((await panel.delete(`/sites/${site.id}/environment`, ada.token)).status).toBe(200)
    await observed(ada, site)
    expect((await read(site)).slice(0, 3)).toEqual([false, null, false])
    expect(await whoOf(others)).toEqual(before)
  })

  nodeTest('is not served by a release whose health path does not answer', async () => {
    const answering = (code: string) => ({
      'index.php': '<?php require "version.php";',
      'version.php': `<?php echo "${code.length}";`,
      'up.php': `<?php ${code}`,
    })
    // PHP runs by then: its start takes long on a busy machine.
    const site = await deployed({ 'index.php': WHO })
    await whoOf(site)
    await change(site, { health_path: '/up.php?deep=1' })
    const failureOf = async (code: string) => failureOfDeployment(site, await upload(ada, site, answering(code)))
    // Under its own name, at its own place, and before any visitor.
    const itself =
      'echo $_SERVER["HTTP_HOST"] === "' +
      site.domain +
      '" && str_contains(__DIR__, "/releases/2") && $_SERVER["QUERY_STRING"] === "deep=1" ? "" : http_response_code(500);'
    expect(await failureOf(itself)).toBe('')
    const served = await textOf(site)
    expect(await failureOf('http_response_code(503);')).toContain('/up.php?deep=1 answered 503, and must answer 2xx')
    expect(await failureOf('this is no PHP')).toContain('answered 500')
    expect(await failureOf('header("Location: https://evil.example/");')).toContain('302, a redirect to https://evil')
    const end = failureOf('sleep(20);')
    const seen = new Set<string>()
    let message: string | undefined
    void end.then((text) => {
      message = text
    })
    while (message === undefined) {
      seen.add(await textOf(site))
      await Bun.sleep(50)
    }
    expect([message, seen]).toEqual([expect.stringContaining('did not answer within 5 seconds'), new Set([served])])
    const left = await machine.bash(`ls ${layout.candidates} ${layout.sites}/ncp-s*/sites/${site.id}/releases`)
    expect(left.split('\n').slice(-3)).toEqual(['1', '2', ''])
    expect(await machine.bash(`cat ${layout.webLogs}/access.log`)).not.toContain('ncp-health')
  })

  nodeTest('does not run what was uploaded where it says so', async () => {
    const site = await deployed(
      {
        'index.php': '<?php echo "front";',
        'wp-content/uploads/shell.php': '<?php echo "EXECUTED";',
        'wp-content/uploads/pic.jpg': 'picture',
        'wp-content/plugin.php': '<?php echo "plugin";',
      },
      { no_php_in: ['wp-content/uploads'] },
    )
    for (const path of [
      '/wp-content/uploads/shell.php',
      '/wp-content/uploads/shell.php/x',
      '/wp-content/uploads/shell.php/x.php',
      '/wp-content/uploads/shell%2ephp',
      '/wp-content//uploads/./shell.php',
      '/x/../wp-content/uploads/shell.php?a=b',
    ]) {
      const { status, text } = await visit(site.domain, path)
      expect([path, status, text.includes('EXECUTED')]).toEqual([path, 404, false])
    }
    expect(await textOf(site, '/wp-content/uploads/pic.jpg')).toBe('picture')
    expect(await textOf(site, '/wp-content/plugin.php')).toBe('plugin')
    expect(await textOf(site, '/any/path')).toBe('front')
    await change(site, { no_php_in: [] })
    await observed(ada, site)
    expect(await textOf(site, '/wp-content/uploads/shell.php')).toBe('EXECUTED')
  })

  nodeTest('without PHP does not run its scripts, nor give their source', async () => {
    const site = await deployed({ 'index.php': '<?php echo "run";', 'index.html': 'page' })
    expect(await textOf(site, '/index.php')).toBe('run')
    await change(site, { kind: 'static' })
    expect((await observed(ada, site)).status).toBe('active')
    const { status, text } = await visit(site.domain, '/index.php')
    expect([status, text.includes('run')]).toEqual([404, false])
    expect(await textOf(site)).toBe('page')
    expect((await machine.run(['test', '-e', `${layout.phpSockets}/${site.id}.sock`])).exitCode).toBe(1)
    await change(site, { kind: 'php' })
    await observed(ada, site)
    expect(await textOf(site, '/index.php')).toBe('run')
  })
})

describe('what happens behind our back', () => {
  nodeTest('FPM is killed: the next request is served', async () => {
    const site = await deployed({ 'index.php': WHO })
    const { master } = await whoOf(site)
    await machine.bash(`kill -KILL ${master}`)
    const after = await until('another master', async () => {
      const { status, text } = await visit(site.domain)
      return status === 200 && (JSON.parse(text) as Who)
    })
    expect(after.master).not.toBe(master)
  })

  nodeTest('a user is removed: the PHP of others goes on, his own too, and he is back after a comparison', async () => {
    const bob = await node.customer()
    const his = await deployed({ 'index.php': WHO }, {}, bob)
    const hers = await deployed({ 'index.php': WHO })
    const name = `ncp-s${bob.subscription}`
    await machine.bash(`sed -i '/^${name}:/d' /etc/passwd /etc/group /etc/shadow /etc/gshadow`)
    expect((await whoOf(his)).uid).toBe(uidOf(bob.subscription))
    expect((await whoOf(hers)).uid).toBe(uidOf(ada.subscription))
    node.compare()
    await until('the user', async () => (await machine.run(['id', name])).exitCode === 0)
    await change(hers, { php_settings: { display_errors: true } })
    await observed(ada, hers)
    expect((await whoOf(hers)).uid).toBe(uidOf(ada.subscription))
  })

  nodeTest('a socket and a configuration are replaced: a comparison puts them right', async () => {
    const site = await deployed({ 'index.php': WHO })
    const socket = `${layout.phpSockets}/${site.id}.sock`
    await machine.bash(`rm ${socket}; echo nothing >${socket}`)
    expect((await visit(site.domain)).status).toBe(502)
    node.compare()
    await until('the socket', async () => (await visit(site.domain)).status === 200)
  })

  nodeTest('the version is uninstalled: the site says so and serves its files, and is well again with it', async () => {
    const site = await deployed({ 'index.php': WHO, 'a.txt': 'text' })
    const program = `/usr/sbin/php-fpm${site.php_version}`
    await machine.bash(`mv ${program} /usr/sbin/away`)
    node.compare()
    const failed = await until('the failure', async () => {
      const { data } = await panel.get<Site>(`/sites/${site.id}`, ada.token)
      return data.status === 'failed' && data
    })
    expect(failed.failure).toMatchObject({
      code: 'php_unavailable',
      message: `PHP ${site.php_version} is not installed on the server; choose another version`,
    })
    expect([(await visit(site.domain)).status, await textOf(site, '/a.txt')]).toEqual([502, 'text'])
    await machine.bash(`mv /usr/sbin/away ${program}`)
    node.compare()
    await until('PHP', async () => (await visit(site.domain)).status === 200)
    expect((await observed(ada, site)).status).toBe('active')
  })

  nodeTest('the agent is killed: PHP that runs goes on, and the next agent takes over', async () => {
    const site = await deployed({ 'index.php': WHO })
    const before = await whoOf(site)
    node.agent()?.kill('SIGKILL')
    await node.agent()?.ended()
    // Without systemd it is the agent that supervises the web server.
    await machine.bash(`pid=$(cat ${layout.webPid}); kill $pid; while [ -e /proc/$pid ]; do sleep 0.05; done`)
    node.start()
    const after = await until('the next agent', async () => {
      const answer = await visit(site.domain).catch(() => undefined)
      const who = answer?.status === 200 && (JSON.parse(answer.text) as Who)
      return who && who.master !== before.master && who
    })
    expect(after.uid).toBe(uidOf(ada.subscription))
    await until(
      'the end of the old master',
      async () => !(await pidsOf(ada.subscription)).split('\n').includes(`${before.master}`),
    )
    expect((await whoOf(site)).uid).toBe(uidOf(ada.subscription))
  })
})

describe('a subscription', () => {
  nodeTest('that is suspended has no process, and its scripts answer 503; then all is as before', async () => {
    const bob = await node.customer()
    const site = await deployed(
      { 'index.php': WHO, 'stay.php': '<?php exec("setsid sleep 1000 >/dev/null 2>&1 &"); echo "left";' },
      {},
      bob,
    )
    expect(await textOf(site, '/stay.php')).toBe('left')
    expect(await pidsOf(bob.subscription)).not.toBe('')
    const admin = await panel.admin()
    await panel.patch(`/admin/subscriptions/${bob.subscription}`, admin, { status: 'suspended' })
    expect((await observed(bob, site)).status).toBe('suspended')
    expect(await pidsOf(bob.subscription)).toBe('')
    for (const path of ['/', '/index.php', '/stay.php', '/x/y']) {
      expect([path, (await visit(site.domain, path)).status]).toEqual([path, 503])
    }
    await panel.patch(`/admin/subscriptions/${bob.subscription}`, admin, { status: 'active' })
    expect((await observed(bob, site)).status).toBe('active')
    expect((await whoOf(site)).uid).toBe(uidOf(bob.subscription))
  })

  nodeTest('that is deleted with a process that left its session leaves neither process, socket nor user', async () => {
    const bob = await node.customer()
    const site = await deployed(
      { 'index.php': '<?php exec("setsid sleep 1000 >/dev/null 2>&1 &"); echo "left";' },
      { no_php_in: ['uploads'] },
      bob,
    )
    expect(await textOf(site)).toBe('left')
    await panel.delete(`/admin/subscriptions/${bob.subscription}?delete_sites=true`, await panel.admin())
    await until(
      'the end of the user',
      async () => (await machine.run(['id', `ncp-s${bob.subscription}`])).exitCode === 1,
    )
    expect(await pidsOf(bob.subscription)).toBe('')
    expect(
      (await machine.bash(`ls -A ${layout.phpSockets} ${layout.phpSettings}`)).includes(`${site.id}.sock`),
    ).toBeFalse()
    const settings = await machine.bash(`ls ${layout.phpSettings}`)
    expect([settings.includes(`${bob.subscription}-`), settings.includes(`${site.id}-guard`)]).toEqual([false, false])
  })
})
