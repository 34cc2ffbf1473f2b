/** There is no way out of the root of a site: not by links, pipes or devices, and not by any path. */
import { expect, test } from 'bun:test'
import { linkSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { openSites, readAnswer } from '../harness/sites.ts'

const sites = openSites()
const SECRET = 'the-secret-beside-the-root'
const root = sites.add('a.test', {
  'index.html': 'the index',
  'page.html': 'a page',
  'page (deleted)': 'a page',
  'dir/inner.html': 'inner',
  'dir/index.html': 'dir index',
  '.env': SECRET,
  'config.php': SECRET,
})
sites.add('spa.test', {}, { root, spa: true })
sites.write(sites.directory, { 'secret.txt': SECRET, 'outside/index.html': SECRET, 'outside/404.html': SECRET })

const link = (target: string, name: string) => symlinkSync(target, join(root, name))
link('../secret.txt', 'link.txt')
link(join(sites.directory, 'secret.txt'), 'absolute.txt')
link('../outside', 'outside')
link(join(sites.directory, 'outside'), 'absolute-outside')
link('/', 'rootfs')
link('/dev', 'dev')
link('.', 'self')
link('page.html', 'own-link.html')
link('dir', 'own-dir')
link('loop', 'loop')
link('/proc/self', 'proc')
link('missing', 'dangling')
// What the kernel calls a file that is gone, but under its own name.
link('page (deleted)', 'page')
mkdirSync(join(root, 'indexed'))
link('../../secret.txt', 'indexed/index.html')

test.each([
  '/link.txt',
  '/absolute.txt',
  '/outside/',
  '/outside',
  '/outside/index.html',
  '/absolute-outside/index.html',
  '/rootfs/etc/passwd',
  '/dev/null',
  '/dev/zero',
  '/dev/stdin',
  '/proc/environ',
  '/proc/fd/0',
  '/proc/root/etc/passwd',
  '/loop',
  '/dangling',
  '/page',
  '/indexed/',
  '/indexed/index.html',
  // Inside of the root too: a release of this driver has no links at all.
  '/own-link.html',
  '/own-dir/inner.html',
  '/own-dir',
  '/own-dir/',
  '/self/page.html',
])('%s leads over a link, and is not found', async (path) => {
  const answer = await sites.ask(path)
  expect(answer.status).toBe(404)
  expect(answer.text).toContain('<h1>Not found</h1>')
})

test('a page for what is not found, or an index, is not read over a link either', async () => {
  const other = sites.add('links.test', {}, { spa: true })
  symlinkSync('../outside/404.html', join(other, '404.html'))
  symlinkSync('../outside/index.html', join(other, 'index.html'))
  for (const path of ['/', '/missing', '/.env', '/x.php']) {
    const answer = await sites.ask(path, { host: 'links.test' })
    expect([answer.status, answer.text.includes(SECRET)]).toEqual([404, false])
  }
})

test('a root that is itself a link is not followed', async () => {
  symlinkSync(root, join(sites.directory, 'current'))
  sites.add('linked.test', {}, { root: join(sites.directory, 'current') })
  for (const path of ['/', '/page.html']) expect((await sites.ask(path, { host: 'linked.test' })).status).toBe(404)
})

test('a pipe, a socket or a device is not found, and opening it never blocks', async () => {
  const made = Bun.spawnSync(['mkfifo', join(root, 'pipe'), join(root, 'dir/404.html')])
  expect(made.exitCode).toBe(0)
  const socket = Bun.listen({ unix: join(root, 'socket'), socket: { data() {} } })
  const paths = ['/pipe', '/socket', '/dir/404.html']
  // Only root may make a device.
  if (Bun.spawnSync(['mknod', join(root, 'zero'), 'c', '1', '5']).exitCode === 0) paths.push('/zero')
  for (const path of paths) expect([path, (await sites.ask(path)).status]).toEqual([path, 404])
  socket.stop()

  const piped = sites.add('piped.test', {}, { spa: true })
  Bun.spawnSync(['mkfifo', join(piped, '404.html'), join(piped, 'index.html')])
  for (const path of ['/', '/x', '/.env']) expect((await sites.ask(path, { host: 'piped.test' })).status).toBe(404)
})

test('a hard link is the file that it is', async () => {
  linkSync(join(root, 'page.html'), join(root, 'hard.html'))
  expect((await sites.ask('/hard.html')).text).toBe('a page')
})

/** Repeats a shell command in the root, in a process of its own, while requests are sent. */
async function whileRepeating(command: string, send: () => Promise<void>): Promise<void> {
  const loop = Bun.spawn(['sh', '-c', `cd "$1" && while :; do ${command} || exit 1; done`, 'sh', root], {
    stdout: 'ignore',
    stderr: 'inherit',
  })
  await send()
  const wasRunning = loop.exitCode === null
  loop.kill('SIGKILL')
  await loop.exited
  expect(wasRunning).toBeTrue()
}

test('a directory that becomes a link and back, as fast as can be, never shows what is behind the link', async () => {
  sites.write(root, { 'swap/index.html': 'inside' })
  sites.write(sites.directory, { 'behind/index.html': SECRET })
  symlinkSync('../behind', join(root, 'swap-link'))
  const seen = new Map<string, number>()
  const swap = 'mv swap swap-kept && mv swap-link swap && mv swap swap-link && mv swap-kept swap'
  await whileRepeating(swap, async () => {
    for (let request = 0; request < 1500; request++) {
      const answer = await sites.ask('/swap/index.html')
      const kind = answer.text.includes(SECRET) ? 'secret' : `${answer.status}`
      seen.set(kind, (seen.get(kind) ?? 0) + 1)
    }
  })
  expect([...seen.keys()].filter((kind) => kind !== '200' && kind !== '404')).toEqual([])
  expect(seen.get('200')).toBeGreaterThan(0)
  expect(sites.log.lines).toEqual([])
})

test('a file that is replaced again and again, as fast as can be, is always there', async () => {
  sites.write(root, { 'one.txt': 'one', 'two.txt': 'two', 'replaced.txt': 'one' })
  const replace = 'ln one.txt new1 && mv -f new1 replaced.txt && cp two.txt new2 && mv -f new2 replaced.txt'
  await whileRepeating(replace, async () => {
    for (let request = 0; request < 3000; request++) {
      const { status, text } = await sites.ask('/replaced.txt')
      expect(status).toBe(200)
      expect(['one', 'two']).toContain(text)
    }
  })
})

/** Pieces that attacks on paths consist of. */
const piece = fc.oneof(
  fc.constantFrom(
    '/',
    '//',
    '.',
    '..',
    '../',
    '/..',
    '%2e',
    '%2E%2e',
    '%252e%252e',
    '%2f',
    '%252f',
    '%5c',
    '\\',
    '..\\',
    '%00',
    '\0',
    '%c0%ae',
    '%c0%af',
    '%e0%80%af',
    '%uff0e',
    '\u2025',
    ';',
    ':',
    '?',
    '#',
    '%23',
    '%3f',
    '*',
    '~',
    '%0a',
    '%0d%0a',
    '\t',
    ' ',
    '%20',
    '@',
  ),
  fc.constantFrom(
    'secret.txt',
    'outside',
    'outside/index.html',
    'link.txt',
    'self',
    'rootfs',
    'proc',
    'cwd',
    'root',
    'etc',
    'passwd',
    '.env',
    'config.php',
    'dir',
    'page.html',
    'site-1',
    sites.directory,
    encodeURIComponent(sites.directory),
    'http://a.test',
    '//a.test',
    'file://',
  ),
  fc.string({ unit: 'binary', maxLength: 4 }),
)

test('no path reads anything outside the root, or fails', async () => {
  const path = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
  const host = fc.constantFrom('a.test', 'spa.test')
  const allowed = ['the index', 'a page', 'inner', 'dir index']
  await fc.assert(
    fc.asyncProperty(path, host, async (path, host) => {
      const target = Buffer.from(`/${path}`)
      const received = await sites.send(
        Buffer.concat([
          Buffer.from('GET '),
          target,
          Buffer.from(` HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
        ]),
      )
      expect(received.toString()).not.toContain(SECRET)
      expect(received.toString()).not.toContain('root:')
      // Refused by the runtime: a line break or a blank in the target.
      if (received.length === 0 || received.toString('latin1').startsWith('HTTP/1.1 505')) return
      const answer = readAnswer(received)
      expect([200, 301, 400, 404, 431]).toContain(answer.status)
      if (answer.status === 200) expect(allowed).toContain(answer.text)
      if (answer.status === 301) expect(answer.headers.get('location')).toMatch(/^\.\/[^/]+\/(\?|$)/)
    }),
    { numRuns: 3000 },
  )
  expect(sites.log.lines).toEqual([])
})
