/** Which site our nginx answers for, by what a request says of its host. */
import { describe, expect } from 'bun:test'
import { nodeTest, usingNodeMachine } from '../../harness/node-machine.ts'
import { startWebNode, type WebNode } from '../../harness/web-node.ts'

const machine = await usingNodeMachine()
let web: WebNode

const LONGEST = `${[63, 63, 63, 61].map((length) => 'a'.repeat(length)).join('.')}`

nodeTest('starts with the configuration', async () => {
  web = await startWebNode(machine)
  const names = ['a.test', 'www.a.test', 'xn--mller-kva.test', LONGEST, '127.0.0.1']
  await web.serve({ id: 1, subscription: 1, names, files: { 'index.html': 'a' } })
  await web.serve({ id: 2, subscription: 2, names: ['b.test'], files: { 'index.html': 'b' } })
})

describe('the site is found', () => {
  for (const host of ['a.test', 'A.TEST', 'a.test.', 'a.test:80', 'a.test:8080', 'www.a.test', 'xn--mller-kva.test']) {
    nodeTest(`by ${host}`, async () => {
      const answer = await web.ask('/', { host })
      expect([answer.status, answer.text]).toEqual([200, 'a'])
    })
  }

  nodeTest('by a name of 253 characters', async () => {
    expect(LONGEST).toHaveLength(253)
    expect((await web.ask('/', { host: LONGEST })).text).toBe('a')
  })

  nodeTest('over IPv4 and IPv6', async () => {
    for (const address of ['127.0.0.1', '[::1]', '203.0.113.7', '[2001:db8::7]']) {
      expect(await machine.bash(`curl -sS -H 'Host: b.test' http://${address}/`)).toBe('b')
    }
  })

  nodeTest('by the request line, whatever the Host header says', async () => {
    const answer = await web.send('GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n')
    expect(answer.toString()).toEndWith('\r\n\r\na')
  })
})

describe('no site is found', () => {
  for (const host of [
    'none.test',
    '_',
    '-',
    '[::1]',
    '.a.test',
    'x.a.test',
    `${'x'.repeat(260)}.test`,
    '.staging',
    'b.test.a.test',
  ]) {
    nodeTest(`by ${host}`, async () => {
      const answer = await web.ask('/', { host })
      expect(answer.status).toBe(404)
      expect(answer.text).toContain('No site here')
    })
  }

  for (const host of ['../a.test', 'a..test', 'a.test/b', 'a.test\\b', '..', 'a.test, b.test', '', 'a\u0000.test']) {
    nodeTest(`by ${JSON.stringify(host)}, which is no name`, async () => {
      const answer = await web.ask('/', { host })
      expect([400, 404]).toContain(answer.status)
      expect(answer.text).not.toBe('a')
    })
  }

  nodeTest('by two Host headers, or by none', async () => {
    for (const lines of ['Host: a.test\r\nHost: b.test\r\n', '']) {
      const answer = await web.send(`GET / HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`)
      expect(answer.toString()).toStartWith('HTTP/1.1 400 ')
    }
    const old = await web.send('GET / HTTP/1.0\r\n\r\n')
    expect(old.toString()).toStartWith('HTTP/1.1 404 ')
  })

  nodeTest('with any method or path, and nothing of a site is told', async () => {
    for (const [method, path] of [
      ['GET', '/index.html'],
      ['GET', '/.env'],
      ['GET', '/x.php'],
      ['GET', '/dir/'],
      ['POST', '/'],
      ['GET', '/.well-known/acme-challenge/none'],
    ] as const) {
      const answer = await web.ask(path, { method, host: 'none.test' })
      expect([method, path, answer.status]).toEqual([method, path, 404])
      expect(answer.text).toContain('No site here')
    }
  })
})

describe('which generation a name leads to', () => {
  nodeTest('is told to root alone', async () => {
    const ask = (as: string | undefined) =>
      machine.run(
        ['curl', '-s', '--unix-socket', '/run/ncp/probe/web.sock', 'http://a.test/'],
        as === undefined ? {} : { as },
      )
    expect((await ask(undefined)).stdout).toBe('1.1\n')
    expect((await ask('ncp-s1')).exitCode).not.toBe(0)
    expect((await ask('ncp-web')).exitCode).not.toBe(0)
  })
})
