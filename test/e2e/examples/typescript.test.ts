/** The TypeScript example: generated from the document that the panel serves, compiled, and run against the same panel. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Customer, type Panel, startPanel } from '../../harness/panel.ts'
import { outputOf } from '../../harness/program.ts'

// The first test installs the example's packages.
setDefaultTimeout(600_000)

const LIMIT = 5
const directory = mkdtempSync(join(tmpdir(), 'ncp-typescript-'))

let panel: Panel
let ada: Customer
let key: string
/** Stands between the client and the panel, and lets a 429's time pass at once but for its last second. */
let front: Bun.Server<undefined>
let refusals = 0
beforeAll(async () => {
  panel = await startPanel({ limitUser: LIMIT })
  ada = await panel.customer()
  await panel.subscription(ada.id)
  key = await panel.key(ada.token, { scopes: ['sites:read', 'sites:write'] })
  front = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch({ method, url, headers, body }) {
      const { pathname, search } = new URL(url)
      // Handed on as it comes, compressed or not.
      const init = { method, headers, body, decompress: false }
      const response = await fetch(`${panel.origin}${pathname}${search}`, init)
      if (response.status !== 429) return response
      refusals++
      panel.clock.advance(Number(response.headers.get('retry-after')))
      return new Response(response.body, { status: 429, headers: { 'retry-after': '1' } })
    },
  })
  cpSync(join(import.meta.dir, '../../../examples/typescript'), directory, {
    recursive: true,
    filter: (path) => !path.endsWith('/node_modules') && !path.endsWith('/dist'),
  })
})
afterAll(async () => {
  await front.stop(true)
  await panel.stop()
  rmSync(directory, { recursive: true })
})

/** Runs Bun in the example's directory, in place of npm and Node: a machine may have only it. */
async function bun(...args: string[]) {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd: directory,
    env: { PATH: '/usr/bin:/bin', HOME: process.env.HOME, NCP_URL: `http://127.0.0.1:${front.port}`, NCP_KEY: key },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  return outputOf(child, `bun ${args.join(' ')}`)
}

const build = () => bun('run', '--bun', 'build')
const createTen = () => bun('dist/ten-sites.js', 'example.com')

test('is generated from the served document and compiles', async () => {
  for (const args of [
    ['install', '--frozen-lockfile'],
    ['run', '--bun', 'generate'],
  ]) {
    expect([args, await bun(...args)]).toMatchObject([args, { exitCode: 0 }])
  }
  expect(await build()).toMatchObject({ exitCode: 0, stdout: '' })
})

test('creates ten sites despite a low limit, and none twice', async () => {
  const first = await createTen()
  expect([first.exitCode, first.stderr]).toEqual([0, ''])
  const lines = Array.from({ length: 10 }, (_, index) => `site${index + 1}.example.com is provisioning\n`)
  expect(first.stdout).toBe(lines.join(''))
  expect(refusals).toBeGreaterThan(0)
  expect(await createTen()).toMatchObject({ exitCode: 0, stdout: '', stderr: '' })
})

test('shows the panel’s message about a mistake', async () => {
  const { exitCode, stderr } = await bun('dist/ten-sites.js', 'no_domain')
  expect(exitCode).toBe(1)
  expect(stderr).toContain('validation error: domain: must be a full domain name, such as www.example.com')
  expect(stderr).not.toContain(key)
})

test('does not compile with a request that the panel would refuse', async () => {
  const mistakes = [
    `client.POST('/api/v1/sites', { body: { domian: 'a.example' } })`,
    `client.PATCH('/api/v1/sites/{id}', { params: { path: { id: 1 } }, body: { kind: 'ruby' } })`,
    `client.GET('/api/v1/sights', {})`,
  ]
  const lines = [`import { connect } from './client.js'`, `const client = connect('', '')`, ...mistakes]
  await Bun.write(join(directory, 'src/mistakes.ts'), lines.map((line) => `${line}\n`).join(''))
  const { exitCode, stdout } = await build()
  expect(exitCode).not.toBe(0)
  for (const index of mistakes.keys()) expect(stdout).toContain(`src/mistakes.ts(${index + 3},`)
})
