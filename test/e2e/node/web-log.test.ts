/** The access log of a node: one line of JSON a request, by the name of the site. */
import { expect } from 'bun:test'
import { nodeTest, usingNodeMachine } from '../../harness/node-machine.ts'
import { startWebNode, type WebNode } from '../../harness/web-node.ts'

const machine = await usingNodeMachine()
let web: WebNode

nodeTest('starts with the configuration', async () => {
  web = await startWebNode(machine)
  await web.serve({ id: 1, subscription: 1, names: ['a.test'], files: { 'index.html': 'start' } })
  await web.serve({ id: 2, subscription: 2, names: ['b.test'], files: { 'index.html': 'b' } })
})

nodeTest('a line says when, who, what and how much', async () => {
  const agent = 'quote " backslash \\ tab \t end'
  await web.ask('/?x={"h":"b.test"}', { headers: { 'user-agent': agent, referer: 'https://c.test/"}' } })
  const [line] = await web.logged('a.test', 1)
  expect(line).toEqual({
    h: 'a.test',
    t: expect.any(Number),
    r: '127.0.0.1',
    m: 'GET',
    u: '/?x={"h":"b.test"}',
    p: 'HTTP/1.1',
    s: 200,
    b: expect.any(Number),
    i: expect.any(Number),
    d: expect.any(Number),
    S: 'http',
    f: 'https://c.test/"}',
    a: agent,
  })
})

nodeTest('what fails belongs to the name under which it was looked up', async () => {
  for (const path of ['/none', '/.env', '/x.php', '/dir/', '//404']) await web.ask(path, { host: 'b.test' })
  await web.suspend('b.test')
  await web.ask('/', { host: 'b.test' })
  const lines = await web.logged('b.test', 6)
  expect(lines.map(({ s }) => s)).toEqual([404, 404, 404, 404, 404, 503])
})

nodeTest('what was looked up under no name belongs to none', async () => {
  await web.certify('a.test')
  await web.send('GARBAGE\r\n\r\n')
  await web.send('GET / HTTP/1.1\r\nHost: a..test\r\n\r\n')
  await web.ask('/', { tls: 'a.test', host: 'b.test' })
  await web.ask('/', { host: '_' })
  const lines = await web.logged('-', 4)
  expect(lines.map(({ s }) => s)).toEqual([400, 400, 421, 404])
})

nodeTest('no credential is in it', async () => {
  const headers = {
    authorization: 'Bearer CREDENTIAL',
    cookie: 'session=CREDENTIAL',
    'proxy-authorization': 'CREDENTIAL',
  }
  await web.ask('/marked', { headers })
  await web.logged('a.test', 2)
  expect(await machine.bash('grep -c marked /var/log/ncp/web/access.log')).toBe('1\n')
  expect((await machine.run(['grep', '-rq', 'CREDENTIAL', '/var/log/ncp'])).exitCode).toBe(1)
})

nodeTest('bytes that are not UTF-8 leave a line that is JSON, read with replacement', async () => {
  await web.send('GET /raw\xff HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
  const lines = await web.logged('a.test', 3)
  expect(lines.at(-1)?.u).toBe('/raw\ufffd')
})

nodeTest('only root and nginx read it, and nginx goes on in a new file after USR1', async () => {
  const log = '/var/log/ncp/web/access.log'
  expect(await machine.bash(`stat -c %a ${log}`)).toBe('600\n')
  await machine.bash(`mv ${log} ${log}.1; kill -USR1 $(cat /run/ncp/web.pid)`)
  await web.ask('/after')
  await web.logged('a.test', 1)
  expect(await machine.bash(`stat -c '%a %U' ${log}`)).toBe('600 ncp-web\n')
})
