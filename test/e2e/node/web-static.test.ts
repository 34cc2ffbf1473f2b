/** What our nginx answers for static and single-page sites, path by path. */
import { describe, expect } from 'bun:test'
import { nodeTest, usingNodeMachine } from '../../harness/node-machine.ts'
import { startWebNode, type WebNode } from '../../harness/web-node.ts'

const machine = await usingNodeMachine()
let web: WebNode

const STATIC = {
  'index.html': 'start',
  'css/site.css': 'body{}',
  'docs/index.html': 'docs',
  'no-index/file.txt': 'text',
  'a b.txt': 'space',
  'ümlaut.txt': 'umlaut',
  '404.html': 'own page',
  '.env': 'SECRET',
  '.git/config': 'SECRET',
  'sub/.htpasswd': 'SECRET',
  '.well-known/security.txt': 'contact',
  '.well-known/.secret': 'SECRET',
  'wp.php': '<?php SECRET',
  'wp.php.bak': '<?php SECRET',
  'wp.php~': '<?php SECRET',
  'WP.PHP': '<?php SECRET',
  'x.phtml': '<?php SECRET',
  'x.php5': '<?php SECRET',
  'x.phar': '<?php SECRET',
  'docs/index.php': '<?php SECRET',
  'notes.phpx': 'not php',
}

nodeTest('starts with the configuration', async () => {
  web = await startWebNode(machine)
  await web.serve({ id: 1, subscription: 1, names: ['a.test', 'www.a.test'], files: STATIC })
  await web.serve({
    id: 2,
    subscription: 1,
    names: ['app.test'],
    kind: 'spa',
    files: { 'index.html': 'app', 'assets/app.js': 'js', '.env': 'SECRET', 'x.php': '<?php SECRET' },
  })
  await web.serve({ id: 3, subscription: 1, names: ['bare.test'], files: { 'only.txt': 'x' } })
})

describe('a static site', () => {
  const found: [string, string][] = [
    ['/', 'start'],
    ['/index.html', 'start'],
    ['/?query=1', 'start'],
    ['/css/site.css', 'body{}'],
    ['//css///site.css', 'body{}'],
    ['/css/./site.css', 'body{}'],
    ['/css/../css/site.css', 'body{}'],
    ['/%63ss/site.css', 'body{}'],
    ['/docs/', 'docs'],
    ['/docs/index.html', 'docs'],
    ['/no-index/file.txt', 'text'],
    ['/a%20b.txt', 'space'],
    ['/%C3%BCmlaut.txt', 'umlaut'],
    ['/.well-known/security.txt', 'contact'],
    ['/notes.phpx', 'not php'],
  ]
  for (const [path, text] of found) {
    nodeTest(`answers ${path}`, async () => {
      const answer = await web.ask(path)
      expect([answer.status, answer.text]).toEqual([200, text])
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    })
  }

  const missing = [
    ...['/none', '/none/', '/css/', '/css/none.css', '/no-index/', '/index.html/', '/index.html/x'],
    ...['/.env', '/.%65nv', '/%2eenv', '/.git/config', '/.git/', '/.git', '/sub/.htpasswd', '/.well-known/.secret'],
    ...['/wp.php', '/wp.php.bak', '/wp.php~', '/WP.PHP', '/x.phtml', '/x.php5', '/x.phar', '/docs/index.php'],
    ...['/wp.php/info', '/wp.php?x', '/wp%2ephp', '/none.php', '/index.html/x.php'],
    ...['//404', '/404', '//503', '/.well-known/', '/generation', '/pub/index.html', '/503.html'],
  ]
  for (const path of missing) {
    nodeTest(`does not have ${path}`, async () => {
      const answer = await web.ask(path)
      expect([answer.status, answer.text]).toEqual([404, 'own page'])
    })
  }

  for (const path of ['/../etc/passwd', '/css/../../../../etc/passwd', '/%00', '/..%2f..%2fetc/passwd', '/%']) {
    nodeTest(`refuses ${path}`, async () => {
      const answer = await web.ask(path)
      expect([400, 404]).toContain(answer.status)
      expect(answer.text).not.toContain('root:')
    })
  }

  nodeTest('redirects a directory to its name with a slash, on whatever host it was asked', async () => {
    for (const [path, location] of [
      ['/docs', '/docs/'],
      ['/docs?a=b', '/docs/?a=b'],
      ['//docs', '/docs/'],
    ] as const) {
      const answer = await web.ask(path, { host: 'www.a.test' })
      expect([answer.status, answer.headers.get('location')]).toEqual([301, location])
    }
  })

  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND']) {
    nodeTest(`answers ${method} with 405`, async () => {
      for (const path of ['/', '/css/site.css', '/none']) {
        expect([path, (await web.ask(path, { method, body: 'x=1' })).status]).toEqual([path, 405])
      }
    })
  }

  nodeTest('answers HEAD with the headers alone', async () => {
    const answer = await web.ask('/docs/', { method: 'HEAD' })
    expect([answer.status, answer.headers.get('content-length'), answer.text]).toEqual([200, '4', ''])
    expect((await web.ask('/none', { method: 'HEAD' })).status).toBe(404)
  })

  nodeTest('names the media type and the character set', async () => {
    const typeOf = async (path: string) => (await web.ask(path)).headers.get('content-type')
    expect(await typeOf('/css/site.css')).toBe('text/css; charset=utf-8')
    expect(await typeOf('/')).toBe('text/html; charset=utf-8')
    expect(await typeOf('/notes.phpx')).toBe('application/octet-stream')
  })

  nodeTest('answers conditions and ranges', async () => {
    const { headers } = await web.ask('/css/site.css')
    const etag = headers.get('etag') ?? ''
    expect((await web.ask('/css/site.css', { headers: { 'if-none-match': etag } })).status).toBe(304)
    const part = await web.ask('/css/site.css', { headers: { range: 'bytes=0-3' } })
    expect([part.status, part.text]).toEqual([206, 'body'])
  })

  nodeTest('says who answers, but not which version', async () => {
    const { headers } = await web.ask('/')
    expect(headers.get('server')).toBe('nginx')
    expect(headers.get('strict-transport-security')).toBeNull()
  })

  nodeTest('without a page of its own for what is missing shows ours', async () => {
    const answer = await web.ask('/none', { host: 'bare.test' })
    expect(answer.status).toBe(404)
    expect(answer.text).toContain('There is no page at this address')
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect((await web.ask('/', { host: 'bare.test' })).status).toBe(404)
  })

  nodeTest('is served from a new release by one rename, also on a connection that is open', async () => {
    await web.serve({ id: 4, subscription: 1, names: ['new.test'], files: { 'index.html': 'one' } })
    expect((await web.ask('/', { host: 'new.test' })).text).toBe('one')
    await web.serve({ id: 4, subscription: 1, names: ['new.test'], files: { 'index.html': 'two' }, release: 2 })
    expect((await web.ask('/', { host: 'new.test' })).text).toBe('two')
  })

  nodeTest('is compressed for who asks, and only text', async () => {
    const files = { 'big.css': 'a{b:c}'.repeat(1000), 'big.png': 'x'.repeat(6000) }
    await web.serve({ id: 5, subscription: 1, names: ['big.test'], files })
    const asked = { host: 'big.test', headers: { 'accept-encoding': 'gzip' } }
    const text = await web.ask('/big.css', asked)
    expect([text.headers.get('content-encoding'), text.headers.get('vary')]).toEqual(['gzip', 'Accept-Encoding'])
    expect((await web.ask('/big.png', asked)).headers.get('content-encoding')).toBeNull()
    expect((await web.ask('/big.css', { host: 'big.test' })).bytes.length).toBe(6000)
  })
})

describe('a single-page site', () => {
  const ask = (path: string, method = 'GET') => web.ask(path, { host: 'app.test', method })

  nodeTest('answers unknown paths with its index, which no one may keep unasked', async () => {
    for (const path of ['/', '/users/7', '/users/7/', '/assets/none.js']) {
      const answer = await ask(path)
      expect([path, answer.status, answer.text]).toEqual([path, 200, 'app'])
    }
    expect((await ask('/users/7')).headers.get('cache-control')).toBe('no-cache')
    expect((await ask('/users/7')).headers.get('x-content-type-options')).toBe('nosniff')
  })

  nodeTest('answers files as they are', async () => {
    expect((await ask('/assets/app.js')).text).toBe('js')
  })

  nodeTest('does not have hidden files, PHP or directories without an index', async () => {
    for (const path of ['/.env', '/x.php', '/none.php', '/users.php/7', '/assets/']) {
      expect([path, (await ask(path)).status]).toEqual([path, 404])
    }
  })

  nodeTest('answers POST with 405', async () => {
    expect((await ask('/', 'POST')).status).toBe(405)
    expect((await ask('/users/7', 'POST')).status).toBe(405)
  })
})
