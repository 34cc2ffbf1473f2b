/** The port of the proof, which is open to the whole internet while a certificate is ordered. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { publishOnPort } from '../../src/tls/acme/challenge.ts'
import { freePort } from '../harness/port.ts'
import { sendRaw } from '../harness/raw.ts'

const PATH = '/.well-known/acme-challenge/token'

let origin: string
let close: () => unknown
beforeAll(async () => {
  const port = await freePort()
  origin = `http://127.0.0.1:${port}`
  close = await publishOnPort(port)('token', 'the answer')
})
afterAll(() => close())

test.each([
  ['as an authority asks', `GET ${PATH} HTTP/1.1\r\nHost: panel.example.com\r\nConnection: close\r\n\r\n`],
  ['with HTTP/1.0 and no host', `GET ${PATH} HTTP/1.0\r\n\r\n`],
  ['with an invalid host', `GET ${PATH} HTTP/1.1\r\nHost: a b[:x\r\nConnection: close\r\n\r\n`],
  ['with an empty host', `GET ${PATH} HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n`],
])('answers %s', async (_, request) => {
  expect(await sendRaw(origin, request)).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\nthe answer$/)
})

test.each([
  ['another path', 'GET / HTTP/1.1\r\nHost: panel.example.com\r\nConnection: close\r\n\r\n'],
  ['an invalid path', 'GET //[ HTTP/1.0\r\n\r\n'],
])('finds nothing at %s', async (_, request) => {
  expect(await sendRaw(origin, request)).toMatch(/^HTTP\/1\.1 404 [\s\S]*\r\n\r\n$/)
})
