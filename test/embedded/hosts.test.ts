/** Which site a Host means, and what no site answers. */
import { expect, test } from 'bun:test'
import { OWN_HOST, openSites, readAnswer } from '../harness/sites.ts'

const sites = openSites()
sites.add('a.test', { 'index.html': 'site a' })
sites.add('b.test', { 'index.html': 'site b' })
sites.add('xn--bcher-kva.test', { 'index.html': 'books' })
const longest = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`
sites.add(longest, { 'index.html': 'long' })
// As if the table gave a site for each of them.
for (const host of [OWN_HOST, '[::1]', '_x.test', '.a.test', 'a..test', '-a.test', '']) {
  sites.add(host, { 'index.html': 'never served' })
}

test.each([
  ['a.test', 'site a'],
  ['A.Test', 'site a'],
  ['a.test.', 'site a'],
  ['a.test:8080', 'site a'],
  ['A.TEST.:8080', 'site a'],
  ['a.test:', 'site a'],
  [' a.test ', 'site a'],
  ['b.test', 'site b'],
  ['xn--bcher-kva.test', 'books'],
  ['XN--BCHER-KVA.test', 'books'],
  [longest, 'long'],
])('Host %s', async (host, text) => {
  const answer = await sites.ask('/', { host })
  expect([answer.status, answer.text]).toEqual([200, text])
})

test.each([
  'unknown.test',
  'www.a.test',
  'test',
  'localhost',
  '127.0.0.1',
  '[::1]',
  '[::1]:80',
  '_x.test',
  '.a.test',
  'a..test',
  'a.test..',
  '-a.test',
  'a.test%2e',
  `${longest}x`,
  'a'.repeat(260),
  OWN_HOST,
  `${OWN_HOST}.`,
  'PANEL.test:3000',
])('Host %s has no site', async (host) => {
  for (const method of ['GET', 'POST']) {
    const answer = await sites.ask('/', { host, method })
    expect(answer.status).toBe(404)
    expect(answer.text).toContain('<h1>No site here</h1>')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  }
})

test.each([
  '',
  ' ',
  'a.test, b.test',
  'a.test/b',
  'a.test\\b',
  'user@a.test',
  'a.test?x',
  'a.test#x',
  'a test',
  'b\u00fccher.test',
  '[a.test]',
  'a.test:x',
  'a.test:99999',
  '::1',
  '"a.test"',
  '<b>',
])('Host "%s" is malformed', async (host) => {
  expect((await sites.ask('/', { host })).status).toBe(400)
})

test.each([
  ['two hosts', 'GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\nConnection: close\r\n\r\n'],
  ['the same host twice', 'GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\nConnection: close\r\n\r\n'],
  ['no host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ['no host in HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n'],
  ['a NUL in the host', 'GET / HTTP/1.1\r\nHost: a\0.test\r\nConnection: close\r\n\r\n'],
  ['a blank before the colon', 'GET / HTTP/1.1\r\nHost : a.test\r\nConnection: close\r\n\r\n'],
  ['no path', 'GET HTTP/1.1\r\nHost: a.test\r\n\r\n'],
  ['a path without a slash', 'GET x HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'],
  ['two lengths', 'GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
])('%s: refused, and no site is shown', async (_, request) => {
  const received = await sites.send(request)
  expect(received.toString('latin1')).toMatch(/^HTTP\/1\.1 (400|505) /)
  expect(received.toString('latin1')).not.toContain('site ')
})

test('HTTP/1.0 with a host', async () => {
  expect(readAnswer(await sites.send('GET / HTTP/1.0\r\nHost: b.test\r\n\r\n')).text).toBe('site b')
})

test('a request in absolute form goes by its Host header, as the runtime has no other', async () => {
  const answer = readAnswer(
    await sites.send('GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'),
  )
  expect([answer.status, answer.text]).toEqual([200, 'site a'])
})

test('IPv4 and IPv6', async () => {
  const request = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
  for (const address of ['127.0.0.1', '::1']) {
    expect(readAnswer(await sites.send(request, address)).text).toBe('site a')
  }
})
