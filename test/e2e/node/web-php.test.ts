/** Which requests our nginx hands to PHP, with what, and which never get there. */
import { describe, expect } from 'bun:test'
import { nodeTest, usingNodeMachine } from '../../harness/node-machine.ts'
import { startWebNode, type WebNode } from '../../harness/web-node.ts'

const machine = await usingNodeMachine()
let web: WebNode

const SHOW = `<?php
for ($input = fopen('php://input', 'r'), $bytes = 0; !feof($input); ) $bytes += strlen(fread($input, 1 << 20));
header('Content-Type: application/json');
echo json_encode(['server' => $_SERVER, 'get' => $_GET, 'post' => $_POST, 'body' => $bytes]);`

type Shown = { server: Record<string, string>; get: Record<string, string>; post: Record<string, string>; body: number }

const FILES = {
  'index.php': SHOW,
  'show.php': SHOW,
  'dir/index.php': SHOW,
  'style.css': 'body{}',
  'up/pic.jpg': '<?php echo "EXECUTED";',
  'empty/file.txt': 'text',
  '.hidden.php': SHOW,
  'old.phtml': '<?php SECRET',
  'old.php5': '<?php SECRET',
  'OLD.PHP': '<?php SECRET',
  'show.php.bak': '<?php SECRET',
  'show.php~': '<?php SECRET',
  'hop.php': '<?php header("X-Accel-Redirect: /style.css"); echo "not hopped";',
  'missing.php': '<?php http_response_code(404); echo "of PHP";',
}

nodeTest('starts with the configuration', async () => {
  web = await startWebNode(machine)
  await web.serve({ id: 7, subscription: 1, names: ['a.test', 'alias.test'], files: FILES, kind: 'php' })
  await web.startPhp(7, 1)
  const { 'index.php': _, ...withoutFront } = FILES
  await web.serve({ id: 8, subscription: 1, names: ['b.test'], files: withoutFront, kind: 'php' })
  await web.startPhp(8, 1)
})

async function shown(path: string, options: Parameters<WebNode['ask']>[1] = {}): Promise<Shown> {
  const answer = await web.ask(path, options)
  expect([path, answer.status]).toEqual([path, 200])
  return JSON.parse(answer.text) as Shown
}

describe('a PHP site', () => {
  const scripts: [path: string, script: string, pathInfo: string | undefined][] = [
    ['/', '/index.php', undefined],
    ['/?a=b', '/index.php', undefined],
    ['/index.php', '/index.php', undefined],
    ['/show.php', '/show.php', undefined],
    ['/show.php?a=b', '/show.php', undefined],
    ['/show.php/path/info', '/show.php', '/path/info'],
    ['/show%2ephp', '/show.php', undefined],
    ['//show.php', '/show.php', undefined],
    ['/./dir/../show.php', '/show.php', undefined],
    ['/dir/', '/dir/index.php', undefined],
    ['/wp-json/v2/posts', '/index.php', undefined],
    ['/a/b/c', '/index.php', undefined],
    ['/a/b/c/', '/index.php', undefined],
    ['/none.php', '/index.php', undefined],
    ['/none.PHP', '/index.php', undefined],
    ['/up/pic.jpg/x.php', '/index.php', undefined],
  ]
  for (const [path, script, pathInfo] of scripts) {
    nodeTest(`runs ${script} for ${path}`, async () => {
      const { server, get } = await shown(path)
      expect(server.SCRIPT_NAME).toBe(script)
      expect(server.SCRIPT_FILENAME).toBe(`/srv/ncp/ncp-s1/sites/7/releases/1${script}`)
      expect(server.DOCUMENT_ROOT).toBe('/srv/ncp/ncp-s1/sites/7/releases/1')
      expect(server.REQUEST_URI).toBe(path)
      expect(server.PATH_INFO || undefined).toBe(pathInfo)
      if (path.includes('?')) expect(get).toEqual({ a: 'b' })
    })
  }

  nodeTest('answers its files as they are, and does not run them', async () => {
    expect((await web.ask('/style.css')).text).toBe('body{}')
    expect((await web.ask('/up/pic.jpg')).text).toBe('<?php echo "EXECUTED";')
    expect((await web.ask('/up/pic.jpg/x.php', { host: 'b.test' })).status).toBe(404)
  })

  nodeTest('never gives the source of a script, nor a hidden file', async () => {
    for (const path of [
      '/old.phtml',
      '/old.php5',
      '/OLD.PHP',
      '/show.php.bak',
      '/show.php~',
      '/.hidden.php',
      '/.env',
    ]) {
      for (const host of ['a.test', 'b.test']) {
        const answer = await web.ask(path, { host })
        expect(answer.text).not.toContain('SECRET')
      }
      expect([path, [403, 404]]).toEqual([
        path,
        expect.arrayContaining([(await web.ask(path, { host: 'b.test' })).status]),
      ])
    }
  })

  nodeTest('without a front controller does not have what is not there', async () => {
    for (const path of ['/', '/none', '/none.php', '/empty/']) {
      expect([path, (await web.ask(path, { host: 'b.test' })).status]).toEqual([path, 404])
    }
    // An existing directory is nothing that a front controller is asked for.
    expect((await web.ask('/empty/')).status).toBe(404)
    expect((await web.ask('/empty')).status).toBe(301)
  })

  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    nodeTest(`gets ${method} with its body, for scripts and through the front controller`, async () => {
      for (const path of ['/show.php', '/', '/api/things/7', '/style.css']) {
        const headers = { 'content-type': 'application/octet-stream' }
        const { server, body } = await shown(path, { method, body: 'x'.repeat(50_000), headers })
        expect([server.REQUEST_METHOD, body]).toEqual([method, 50_000])
      }
    })
  }

  nodeTest('gets forms', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await shown('/show.php', { method: 'POST', body: 'x=1&y=2', headers })).post).toEqual({ x: '1', y: '2' })
  })

  nodeTest('gets uploads of 100 MB, and none that is larger', async () => {
    const upload = (bytes: number) =>
      machine.bash(
        `head -c ${bytes} /dev/zero | curl -sS -o /dev/null -w '%{http_code}' -H 'Host: a.test' -H 'Content-Type: x/y' --data-binary @- http://127.0.0.1/show.php`,
      )
    expect(await upload(100 * 1024 * 1024 + 1)).toBe('413')
    expect(await upload(100 * 1024 * 1024)).toBe('200')
  })

  nodeTest('sees the host that was routed by, and no header that poses as a setting', async () => {
    const raw = await web.send(
      'GET http://a.test/show.php HTTP/1.1\r\nHost: evil.test\r\nProxy: evil\r\nConnection: close\r\n\r\n',
    )
    const text = raw.toString()
    const { server } = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as Shown
    expect([server.HTTP_HOST, server.SERVER_NAME]).toEqual(['a.test', 'a.test'])
    expect(server.HTTP_PROXY || undefined).toBeUndefined()
    expect(server.HTTPS || undefined).toBeUndefined()
  })

  nodeTest('knows HTTPS, and gets credentials', async () => {
    await web.certify('alias.test')
    const { server } = await shown('/show.php', {
      host: 'alias.test',
      tls: true,
      headers: { authorization: 'Bearer x' },
    })
    expect([server.HTTPS, server.REQUEST_SCHEME, server.SERVER_PORT]).toEqual(['on', 'https', '443'])
    expect(server.HTTP_AUTHORIZATION).toBe('Bearer x')
  })

  nodeTest('answers with its own status and page', async () => {
    const answer = await web.ask('/missing.php')
    expect([answer.status, answer.text]).toEqual([404, 'of PHP'])
  })

  nodeTest('cannot send a request to another location', async () => {
    expect((await web.ask('/hop.php')).text).toBe('not hopped')
  })

  nodeTest('runs the new release at once, and loses no request while releases change', async () => {
    const release = (number: number) =>
      web.serve({
        id: 9,
        subscription: 1,
        names: ['rel.test'],
        kind: 'php',
        release: number,
        files: { 'index.php': `<?php echo ${number};` },
      })
    await release(1)
    await web.startPhp(9, 1)
    let isDone = false
    const statuses = new Set<number>()
    const asking = (async () => {
      while (!isDone) statuses.add((await web.ask('/', { host: 'rel.test' })).status)
    })()
    for (let number = 2; number <= 6; number++) {
      await release(number)
      expect((await web.ask('/', { host: 'rel.test' })).text).toBe(`${number}`)
    }
    isDone = true
    await asking
    expect([...statuses]).toEqual([200])
  })
})

describe('a site whose PHP does not run', () => {
  nodeTest('answers 502 for scripts and its files as ever', async () => {
    await web.serve({ id: 10, subscription: 1, names: ['down.test'], files: FILES, kind: 'php' })
    expect((await web.ask('/show.php', { host: 'down.test' })).status).toBe(502)
    expect((await web.ask('/style.css', { host: 'down.test' })).text).toBe('body{}')
  })
})

describe('the socket of a site', () => {
  nodeTest('is for nginx alone', async () => {
    const connect = (as: string) =>
      machine.run(['php', '-r', 'exit(@fsockopen("unix:///run/ncp/php/7.sock") ? 0 : 1);'], { as })
    expect((await connect('ncp-web')).exitCode).toBe(0)
    expect((await connect('ncp-s1')).exitCode).toBe(1)
    expect((await connect('www-data')).exitCode).toBe(1)
  })
})
