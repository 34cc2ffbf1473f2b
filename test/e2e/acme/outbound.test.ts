/** The one door for requests whose target a customer chooses, with a DNS that lies as it likes. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createOutbound, type Outbound } from '../../../src/http/outbound.ts'
import { pebbleIsInstalled, startDns } from '../../harness/authority.ts'
import { outputOf } from '../../harness/program.ts'

setDefaultTimeout(60_000)

let dns: Awaited<ReturnType<typeof startDns>>
let open: Outbound
let strict: Outbound
let target: Bun.Server<undefined>
const requests: { url: string; headers: Record<string, string> }[] = []

beforeAll(async () => {
  if (!pebbleIsInstalled) return
  dns = await startDns()
  open = createOutbound({ allow: ['127.0.0.0/8', '::1'], dnsServers: [dns.address] })
  strict = createOutbound({ allow: [], dnsServers: [dns.address] })
  target = Bun.serve({
    hostname: '::',
    port: 0,
    fetch(request) {
      requests.push({ url: request.url, headers: Object.fromEntries(request.headers) })
      const { pathname } = new URL(request.url)
      if (pathname === '/moved') return Response.redirect('http://127.0.0.1/elsewhere')
      if (pathname === '/large') return new Response('x'.repeat(1_000_000))
      return new Response('here')
    },
  })
})
afterAll(async () => {
  await target?.stop(true)
  await dns?.stop()
})

const ask = (outbound: Outbound, host: string, path = '/', mayBeHere = true) =>
  outbound.getFromEach({ host, port: target.port ?? 0, path, mayBeHere })

describe.skipIf(!pebbleIsInstalled)('the door', () => {
  test('asks each address of a name, in both families, under the name', async () => {
    await dns.setAddresses('both.example.com', { a: ['127.0.0.1', '127.0.0.2'], aaaa: ['::1'] })
    const reached = await ask(open, 'both.example.com', '/a?b')
    expect(reached.map(({ address }) => address).toSorted()).toEqual(['127.0.0.1', '127.0.0.2', '::1'])
    for (const one of reached) expect(one).toMatchObject({ status: 200, body: 'here' })
    const [last] = requests.slice(-1)
    expect(last?.headers.host).toBe(`both.example.com:${target.port}`)
    expect(new URL(last?.url ?? '').search).toBe('?b')
    expect(Object.keys(last?.headers ?? {}).toSorted()).toEqual(['accept', 'connection', 'host', 'user-agent'])
  })

  test('sends nothing at all if one of them is not public, and says which', async () => {
    await dns.setAddresses('mixed.example.com', { a: ['127.0.0.1', '10.0.0.1'] })
    const before = requests.length
    await expect(ask(open, 'mixed.example.com')).rejects.toThrow(
      'mixed.example.com leads to 10.0.0.1, which is not a public address',
    )
    await expect(ask(strict, 'usual.example.com')).rejects.toThrow('usual.example.com leads to 127.0.0.1, which is')
    const many = Array.from({ length: 40 }, (_, index) => `127.0.0.${index + 1}`)
    await dns.setAddresses('many.example.com', { a: [...many, '10.0.0.1'] })
    await expect(ask(open, 'many.example.com')).rejects.toThrow('many.example.com leads to 10.0.0.1, which is not')
    expect(requests).toHaveLength(before)
  })

  test('follows no redirect', async () => {
    const before = requests.length
    expect(await ask(open, 'usual.example.com', '/moved')).toMatchObject([{ status: 302 }])
    expect(requests).toHaveLength(before + 1)
  })

  test('reads 64 KiB at most', async () => {
    const [answer] = await ask(open, 'usual.example.com', '/large')
    expect(answer && 'body' in answer && answer.body.length).toBe(65_536)
  })

  test('goes through no proxy of the environment', async () => {
    const script = `
      import { createOutbound } from './src/http/outbound.ts'
      const outbound = createOutbound({ allow: ['127.0.0.0/8'], dnsServers: ['${dns.address}'] })
      console.log(JSON.stringify(await outbound.getFromEach({ host: 'usual.example.com', port: ${target.port}, path: '/', mayBeHere: true })))
    `
    const proxied: string[] = []
    const proxy = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        proxied.push(request.url)
        return new Response('proxy')
      },
    })
    const url = `http://127.0.0.1:${proxy.port}`
    const child = Bun.spawn([process.execPath, '-e', script], {
      cwd: `${import.meta.dir}/../../..`,
      env: { PATH: process.env.PATH, HTTP_PROXY: url, http_proxy: url, HTTPS_PROXY: url, ALL_PROXY: url },
      stdout: 'pipe',
    })
    expect(JSON.parse((await outputOf(child, 'the request')).stdout)).toMatchObject([{ status: 200, body: 'here' }])
    expect(proxied).toEqual([])
    await proxy.stop(true)
  })

  test('uses no port of other services', async () => {
    for (const port of [22, 25, 81, 1023]) {
      const asked = open.getFromEach({ host: 'usual.example.com', port, path: '/', mayBeHere: true })
      await expect(asked).rejects.toThrow(`port ${port} is not permitted`)
    }
  })

  test('tells a name without addresses from one that cannot be looked up', async () => {
    await dns.setUsualAddress('')
    expect(await ask(open, 'nothing.example.com')).toEqual([])
    await dns.setUsualAddress('127.0.0.1')
    await dns.fail('broken.example.com')
    await expect(ask(open, 'broken.example.com')).rejects.toThrow(
      /^the A+ records of broken\.example\.com cannot be looked up/,
    )
  })

  test('says why an address does not answer', async () => {
    const reached = await open.getFromEach({ host: 'usual.example.com', port: 1024, path: '/', mayBeHere: true })
    expect(reached).toEqual([{ address: '127.0.0.1', failure: 'it refuses the connection' }])
  })
})
