/** `ncp serve --demo`: the printed lines, pasted into a shell as a newcomer would. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { outputOf } from '../../harness/program.ts'
import { until } from '../../harness/until.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const DOMAINS = [
  'ada.example',
  'demo.localhost',
  'photos.ada.example',
  'recipes.ada.example',
  'shop.example.com',
  'xn--bcher-kva.example',
]

let here: Installation
let panel: RunningBinary
beforeAll(async () => {
  // A shell must be told where the name ends.
  here = await install("ncp's demo ")
  panel = await here.serve(['--demo'])
})
afterAll(() => here.remove())

type Lines = [login: string, create: string, list: string, ...site: string[]]

/** The lines to paste: all that are indented, under their headings. */
async function pasteable(): Promise<Lines> {
  const text = await until('the curl lines', () => /^Log in:\n[\s\S]+^Open a site.*\n/m.exec(panel.stdout())?.[0])
  const lines = text.split('\n').filter((line) => line.startsWith('  '))
  expect(lines).toHaveLength(9)
  return lines as Lines
}

/** What a shell prints that is somewhere else and knows nothing of us. */
async function bash(script: string): Promise<string> {
  const shell = Bun.spawn(['bash', '-c', script], {
    cwd: tmpdir(),
    env: { PATH: '/usr/bin:/bin' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const { stdout, stderr } = await outputOf(shell, 'the pasted lines')
  expect(stderr).toBe('')
  return stdout
}

type Answer<Data> = { data: Data; error: null; message: string }
type NewKey = Answer<{ name: string; key: string }>
type Sites = Answer<{ domain: string; subscription_id: number }[]>

/** Runs the first three lines in one shell. */
async function paste() {
  const [login, create, list] = await pasteable()
  const [token = '', created = '', sites = ''] = (
    await bash([login, 'echo "$TOKEN"', create, 'echo', list].join('\n'))
  ).split('\n')
  return { token, created: JSON.parse(created) as NewKey, sites: JSON.parse(sites) as Sites }
}

test('prints lines that log in, create a key and list sites', async () => {
  const { token, created, sites } = await paste()
  expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
  expect([created.message, created.data.name]).toEqual(['API key created', 'My first key'])
  expect(created.data.key).toMatch(/^ncp_[0-9a-f]{64}$/)
  expect(sites.data.length).toBeGreaterThan(0)
  for (const { domain } of sites.data) expect(DOMAINS).toContain(domain)
})

test('creates one customer with two subscriptions, six sites and one key, and an administrator', async () => {
  const { token, created } = await paste()
  const get = async <Data>(path: string) => (await panel.send<Data>('GET', path, { as: token })).data
  const subscriptions = await get<{ id: number; name: string; is_default: boolean }[]>('/subscriptions')
  expect(subscriptions.map(({ name, is_default }) => [name, is_default])).toEqual([
    ['Personal', true],
    ['Agency', false],
  ])
  const sites = await Promise.all(
    subscriptions.map(({ id }) => get<{ domain: string }[]>(`/sites?subscription_id=${id}`)),
  )
  expect(
    sites
      .flat()
      .map(({ domain }) => domain)
      .sort(),
  ).toEqual(DOMAINS)
  const keys = (await get<{ name: string }[]>('/auth/api-keys')).map(({ name }) => name)
  expect(keys.filter((name) => name !== created.data.name)).toEqual(['Demo key'])
  const users = JSON.parse((await here.run(['user', 'list', '--json'])).stdout) as { email: string }[]
  expect(users.map(({ email }) => email)).toEqual(['admin@localhost', 'demo@example.com'])
})

test('prints lines that create a site, deploy to it and fetch it, and where to see one', async () => {
  const [, , , ...lines] = await pasteable()
  const page = await bash(lines.join('\n'))
  expect(page).toContain('"status":"active"')
  expect(page).toMatch(/<h1>Hello from site-\d+\.localhost<\/h1>/)
  const [, url = ''] = /^Open a site in a browser: (http:\/\/demo\.localhost:\d+)$/m.exec(panel.stdout()) ?? []
  expect(url).not.toBe('')
})

test('serves the sample site, which says how to replace it', async () => {
  const { host, port } = new URL(/^Open a site in a browser: (\S+)$/m.exec(panel.stdout())?.[1] ?? '')
  const page = async (path: string) => {
    const response = await fetch(`http://localhost:${port}${path}`, { headers: { host } })
    return [response.status, await response.text()] as const
  }
  const sample = (name: string) => readFileSync(join(import.meta.dir, '../../../examples/site', name), 'utf8')
  await until('the sample is deployed', async () => !(await page('/'))[1].includes('waits for its first deployment'))
  expect(await page('/')).toEqual([200, sample('index.html')])
  expect(await page('/no-such-page')).toEqual([404, sample('404.html')])
  expect(sample('index.html')).toContain('--data-binary @site.tar.gz')
})

test('keeps its credentials readable only by their owner, and listens only on loopback', async () => {
  expect(statSync(here.inData('demo.json')).mode & 0o777).toBe(0o600)
  expect(new URL(panel.origin).hostname).toBe('localhost')
  const listening = /^\s*\d+: (\w+):(\w+) \w+:\w+ 0A /gm
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => Bun.file(`/proc/net/${name}`).text()))
  const port = panel.port.toString(16).toUpperCase().padStart(4, '0')
  const addresses = [...tables.join('\n').matchAll(listening)].flatMap(([, at, on]) => (on === port && at ? [at] : []))
  expect(addresses.length).toBeGreaterThan(0)
  for (const address of addresses) expect(['0100007F', '00000000000000000000000001000000']).toContain(address)
})

test('started again, with or without --demo, prints lines that still work and creates nothing twice', async () => {
  const before = await pasteable()
  const earlier = (await paste()).token
  expect(await panel.stop()).toBe(0)

  panel = await here.serve()
  expect((await panel.send('GET', '/auth/me', { as: earlier })).status).toBe(200)
  expect(panel.stdout()).not.toContain('curl')
  expect(await panel.stop()).toBe(0)

  panel = await here.serve(['--demo'])
  const withoutPort = (line: string) => line.replace(/localhost:\d+/g, 'localhost')
  expect((await pasteable()).map(withoutPort)).toEqual(before.map(withoutPort))
  const { token, created, sites } = await paste()
  expect(created.message).toBe('API key created')
  expect(sites.data.length).toBeGreaterThan(0)
  expect((await panel.send<unknown[]>('GET', '/subscriptions', { as: token })).data).toHaveLength(2)
})

test('says first where the page is, and how the demo customer logs in', async () => {
  await pasteable()
  const [, origin = '', email = '', password = ''] =
    /^\nOpen (\S+) in a browser, and log in as (\S+) with the password (\S+)$/m.exec(panel.stdout()) ?? []
  expect([origin, email]).toEqual([panel.origin, 'demo@example.com'])
  expect(panel.stdout().indexOf('Open https')).toBeLessThan(panel.stdout().indexOf('Log in:'))
  expect((await panel.send('POST', '/auth/login', { body: { email, password } })).status).toBe(200)
  expect(await (await panel.request('/')).text()).toContain('<div id="page">')
})
