/**
 * What Bun does on the wire beneath all code of ours, where RFC 9112 says otherwise. Each of these fails on the day that Bun is
 * mended: then it goes, with its line in docs/operations/proxy.md.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { sendRaw } from '../harness/raw.ts'

let server: Bun.Server<undefined>
let asked = 0
beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    development: false,
    async fetch(request) {
      asked++
      if (request.url.endsWith('/later')) await Bun.sleep(1)
      if (request.url.endsWith('/refuse')) return new Response('refused', { status: 413 })
      return new Response(`read ${(await request.text()).length}`)
    },
  })
})
afterAll(() => server.stop(true))

const send = (lines: string[], until?: RegExp) => sendRaw(`http://127.0.0.1:${server.port}`, lines.join('\r\n'), until)
const head = (path: string, ...headers: string[]) => [`POST ${path} HTTP/1.1`, 'Host: localhost', ...headers, '']
const statuses = (answer: string) => [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))

test('a chunked body without trailers is read, and the connection stays open', async () => {
  const answer = await send([...head('/', 'Transfer-Encoding: chunked'), '3', 'abc', '0', '', ''], /read 3$/)
  expect(statuses(answer)).toEqual([200])
})

test('trailers after the last chunk are treated as another request, which is 400 (RFC 9112 §7.1.2)', async () => {
  const answer = await send([...head('/', 'Transfer-Encoding: chunked'), '3', 'abc', '0', 'X-Checksum: 1', '', ''])
  expect(statuses(answer)).toEqual([200, 400])
})

test('an empty line before a request is 400 (RFC 9112 §2.2)', async () => {
  expect(statuses(await send(['', 'GET / HTTP/1.1', 'Host: localhost', '', '']))).toEqual([400])
})

test('a client that expects 100 is told to continue before the request is examined (RFC 9110 §10.1.1)', async () => {
  const before = asked
  const lines = head('/refuse', 'Content-Length: 1000000', 'Expect: 100-continue')
  expect(statuses(await send([...lines, ''], /refused$/))).toEqual([100, 413])
  expect(asked).toBe(before + 1)
})

test('a request pipelined behind an unanswered one closes the connection, and both go unanswered (RFC 9112 §9.3.2)', async () => {
  const before = asked
  const second = ['GET / HTTP/1.1', 'Host: localhost', '', '']
  expect(await send([...head('/later', 'Content-Length: 3'), `abc${second.join('\r\n')}`])).toBe('')
  // The first was done all the same, as an API key or a site would have been created.
  expect(asked).toBe(before + 1)
})

test('the page about proxies names each of them', () => {
  const page = readFileSync(new URL('../../docs/operations/proxy.md', import.meta.url), 'utf8')
  for (const words of ['trailers', 'empty line', '100-continue', 'pipelined']) expect(page).toContain(words)
})
