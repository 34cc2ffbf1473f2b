/** What each path of a site gives: the same as nginx would, as far as there is no PHP. */
import { expect, test } from 'bun:test'
import { openSites } from '../harness/sites.ts'

const sites = openSites()
const files = {
  'index.html': 'the index',
  'about.html': 'about us',
  'docs/index.html': 'the docs',
  'docs/a b.html': 'with a space',
  'docs/ä.html': 'with an umlaut',
  'docs/100%.html': 'with a percent sign',
  'bare/only.txt': 'no index here',
  'odd/index.html/inner.txt': 'the index is a directory',
  'evil.test/index.html': 'a name like a host',
  'a:b/index.html': 'a name like a scheme',
  '.env': 'PASSWORD=secret',
  '.git/config': 'secret',
  '.well-known/security.txt': 'Contact: mailto:security@a.test',
  '.well-known/.env': 'secret',
  'docs/.htpasswd': 'secret',
  'index.php': 'secret source',
  'upload.PHP': 'secret source',
  'old.php~': 'secret source',
  'old.php.bak': 'secret source',
  'x.phtml': 'secret source',
  'x.php5': 'secret source',
  'x.phar': 'secret source',
  'x.php/y': 'secret source',
  'shop/index.php': 'secret source',
  'notes.inc': 'a plain file',
  'phpinfo.html': 'not PHP',
  'readme.php.txt': 'not PHP either',
  'empty.txt': '',
}
sites.add('a.test', files)
sites.add('spa.test', files, { spa: true })
sites.add('own.test', { ...files, '404.html': 'our own not found' })

const found: [path: string, text: string][] = [
  ['/', 'the index'],
  ['/?query', 'the index'],
  ['/index.html', 'the index'],
  ['/about.html', 'about us'],
  ['/docs/', 'the docs'],
  ['//docs//', 'the docs'],
  ['//about.html', 'about us'],
  ['/./about.html', 'about us'],
  ['/docs/../about.html', 'about us'],
  ['/docs/%2e%2e/about.html', 'about us'],
  ['/docs/.%2E/about.html', 'about us'],
  ['/%61bout.html', 'about us'],
  ['/docs/a%20b.html', 'with a space'],
  ['/docs/%C3%A4.html', 'with an umlaut'],
  ['/docs/100%25.html', 'with a percent sign'],
  ['/.well-known/security.txt', 'Contact: mailto:security@a.test'],
  ['/notes.inc', 'a plain file'],
  ['/phpinfo.html', 'not PHP'],
  ['/readme.php.txt', 'not PHP either'],
  ['/bare/only.txt', 'no index here'],
  ['/empty.txt', ''],
]

test.each(found)('%s is served', async (path, text) => {
  for (const host of ['a.test', 'spa.test', 'own.test']) {
    const answer = await sites.ask(path, { host })
    expect([host, answer.status, answer.text]).toEqual([host, 200, text])
  }
})

/** Also on a single-page site. */
const withheld = [
  '/.env',
  '/.%65nv',
  '/%2eenv',
  '/.git/config',
  '/.git/',
  '/.git',
  '/.well-known/.env',
  '/docs/.htpasswd',
  '/docs/.missing',
  '/index.php',
  '/index.php?x',
  '/index.php/path/info',
  '/upload.PHP',
  '/old.php~',
  '/old.php.bak',
  '/x.phtml',
  '/x.php5',
  '/x.phar',
  '/x.php/y',
  '/x%2ephp/y',
  '/missing.php',
  '/missing.php.swp',
  '/shop/index.php',
  '/shop/',
  '/bare/',
  '/odd/',
]

test.each(withheld)('%s is not found, on no kind of site, and no source is shown', async (path) => {
  for (const host of ['a.test', 'spa.test']) {
    const answer = await sites.ask(path, { host })
    expect([host, answer.status]).toEqual([host, 404])
    expect(answer.text).toContain('<h1>Not found</h1>')
  }
  const own = await sites.ask(path, { host: 'own.test' })
  expect([own.status, own.text]).toEqual([404, 'our own not found'])
  expect(own.headers.get('content-type')).toBe('text/html;charset=utf-8')
  expect(own.headers.get('etag')).toBeNull()
})

const missing = [
  '/missing',
  '/missing/',
  '/missing/deep/path',
  '/about.html/',
  '/about.html/more',
  '/%EF%BF%BD',
  '/%252e%252e/',
]

test.each(missing)('%s is not found, or the index of a single-page site', async (path) => {
  expect((await sites.ask(path)).status).toBe(404)
  expect((await sites.ask(path, { host: 'own.test' })).text).toBe('our own not found')
  const answer = await sites.ask(path, { host: 'spa.test' })
  expect([answer.status, answer.text]).toEqual([200, 'the index'])
  expect(answer.headers.get('cache-control')).toBe('no-cache')
  expect(answer.headers.get('content-type')).toBe('text/html;charset=utf-8')
})

test.each([
  '/..%2f',
  '/docs%2findex.html',
  '/a%00b',
  '/%00',
  '/docs%5cindex.html',
  '/..%5c',
  '/%',
  '/%zz',
  '/%c3',
  '/%ff',
])('%s is malformed', async (path) => {
  for (const host of ['a.test', 'spa.test', 'own.test']) {
    expect((await sites.ask(path, { host })).status).toBe(400)
  }
})

test.each([
  ['/docs', './docs/'],
  ['/docs?a=1&b=%20', './docs/?a=1&b=%20'],
  ['//docs', './docs/'],
  ['//evil.test', './evil.test/'],
  ['///evil.test', './evil.test/'],
  ['/\\evil.test', './evil.test/'],
  ['/a:b', './a:b/'],
  ['/%61:b', './%61:b/'],
  ['/bare', './bare/'],
])('%s leads to the directory on the same host: %s', async (path, location) => {
  const answer = await sites.ask(path)
  expect([answer.status, answer.headers.get('location'), answer.text]).toEqual([301, location, ''])
  const target = new URL(location, `http://a.test${path.replace('\\', '/')}`)
  expect(target.host).toBe('a.test')
  expect(target.pathname).toEndWith('/')
})

test('a path as long as the listener takes is not found, and no error', async () => {
  expect((await sites.ask(`/${'a'.repeat(300)}`)).status).toBe(404)
  expect((await sites.ask(`/${'a/'.repeat(3000)}`)).status).toBe(404)
  expect((await sites.ask(`/${'a'.repeat(9000)}`)).status).toBe(400)
  expect((await sites.ask(`/${'a'.repeat(20_000)}`)).status).toBe(431)
  expect((await sites.ask(`/${'a'.repeat(300)}`, { host: 'spa.test' })).text).toBe('the index')
  expect(sites.log.lines).toEqual([])
})

test('a single-page site without an index has nothing to show', async () => {
  sites.add('empty.test', {}, { spa: true })
  for (const path of ['/', '/route']) expect((await sites.ask(path, { host: 'empty.test' })).status).toBe(404)
})

test('a root that has been removed is not found, and nothing else', async () => {
  sites.add('gone.test', {}, { root: `${sites.directory}/gone` })
  for (const path of ['/', '/x', '/x/']) expect((await sites.ask(path, { host: 'gone.test' })).status).toBe(404)
  expect(sites.log.lines).toEqual([])
})
