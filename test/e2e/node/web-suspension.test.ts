/** A suspended site answers every request with 503, from the moment its name leads elsewhere. */
import { describe, expect } from 'bun:test'
import { connect } from 'node:net'
import { nodeTest, usingNodeMachine } from '../../harness/node-machine.ts'
import { until } from '../../harness/until.ts'
import { SUSPENDED_PAGE, startWebNode, type WebNode } from '../../harness/web-node.ts'

const machine = await usingNodeMachine()
let web: WebNode

const FILES = {
  'index.html': 'start',
  '404.html': 'own page',
  'x.php': '<?php echo "php";',
  'dir/index.html': 'dir',
  '.env': 'SECRET',
}

nodeTest('starts with the configuration', async () => {
  web = await startWebNode(machine)
})

describe('a suspended site', () => {
  nodeTest('answers every path and method with the page, over HTTP and HTTPS', async () => {
    await web.serve({ id: 1, subscription: 1, names: ['a.test'], files: FILES, kind: 'php' })
    await web.serve({ id: 2, subscription: 1, names: ['spa.test'], files: FILES, kind: 'spa' })
    await web.startPhp(1, 1)
    expect((await web.ask('/x.php')).text).toBe('php')
    for (const name of ['a.test', 'spa.test']) await web.suspend(name)
    const paths = [
      '/',
      '/index.html',
      '/none',
      '/dir',
      '/dir/',
      '/.env',
      '/x.php',
      '/none.php',
      '/x.php/info',
      '/404.html',
    ]
    const other = ['/generation', '/503.html', '//404', '//503', '/.well-known/acme-challenge/none', '/.well-known/x']
    async function expectSuspended(host: string, path: string, method: string, tls?: true) {
      const answer = await web.ask(path, { host, method, ...(tls && { tls }), body: method === 'POST' ? 'x=1' : '' })
      expect([host, path, method, answer.status]).toEqual([host, path, method, 503])
      if (method !== 'HEAD') expect(answer.text.trim()).toBe(SUSPENDED_PAGE)
      expect(answer.headers.get('retry-after')).toBe('3600')
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
    for (const host of ['a.test', 'spa.test']) {
      for (const path of [...paths, ...other]) {
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
          await expectSuspended(host, path, method)
        }
      }
    }
    await web.certify('a.test')
    for (const path of [...paths, ...other]) await expectSuspended('a.test', path, 'GET', true)
  })

  nodeTest('is suspended for the next request of a connection that is open', async () => {
    await web.serve({ id: 3, subscription: 1, names: ['kept.test'], files: FILES })
    let received = ''
    const socket = connect(await machine.socketTo(80)).on('data', (chunk) => {
      received += chunk
    })
    const statuses = () => [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)
    const ask = async (count: number) => {
      socket.write('GET / HTTP/1.1\r\nHost: kept.test\r\n\r\n')
      await until('the answer', () => statuses().length === count)
    }
    await ask(1)
    await web.suspend('kept.test')
    await ask(2)
    await web.point('kept.test', 'gen/3.1')
    await ask(3)
    expect(statuses()).toEqual(['200', '503', '200'])
    socket.destroy()
  })

  nodeTest('loses no request when names are pointed elsewhere again and again', async () => {
    await web.serve({ id: 4, subscription: 1, names: ['moving.test'], files: { 'index.html': 'one' } })
    await web.serve({ id: 4, subscription: 1, names: ['moving.test'], files: { 'index.html': 'two' }, release: 2 })
    let isDone = false
    const asking = async () => {
      const answers = new Set<string>()
      while (!isDone) {
        const { status, text } = await web.ask('/', { host: 'moving.test' })
        answers.add(`${status} ${text}`)
      }
      return answers
    }
    const running = [asking(), asking(), asking()]
    for (let turn = 0; turn < 20; turn++) await web.point('moving.test', `gen/4.${1 + (turn % 2)}`)
    isDone = true
    const answers = new Set((await Promise.all(running)).flatMap((set) => [...set]))
    expect([...answers].sort()).toEqual(['200 one', '200 two'])
  })
})
