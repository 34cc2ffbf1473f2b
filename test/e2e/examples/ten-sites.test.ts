/** The bash example: ten sites in spite of a low limit, each once however often it runs. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Customer, type Panel, startPanel } from '../../harness/panel.ts'
import { outputOf } from '../../harness/program.ts'

// Dozens of short programs, on a machine that does other things besides.
setDefaultTimeout(600_000)

const SCRIPT = join(import.meta.dir, '../../../examples/ten-sites.sh')
/** Far below the eleven requests of a first run. */
const LIMIT = 4

let panel: Panel
let ada: Customer
let key: string
/** Stands for time: the script's `sleep` asks it, and it moves the panel's clock instead. */
let time: Bun.Server<undefined>
let slept: number[] = []
const tools = mkdtempSync(join(tmpdir(), 'ncp-example-'))
beforeAll(async () => {
  panel = await startPanel({ limitUser: LIMIT })
  ada = await panel.customer()
  await panel.subscription(ada.id)
  key = await panel.key(ada.token, { scopes: ['sites:read', 'sites:write'] })
  time = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const seconds = Number(new URL(request.url).pathname.slice(1))
      slept.push(seconds)
      panel.clock.advance(seconds)
      return new Response()
    },
  })
  writeFileSync(join(tools, 'sleep'), `#!/bin/sh\nexec curl -sS http://127.0.0.1:${time.port}/"$1"\n`)
  chmodSync(join(tools, 'sleep'), 0o755)
})
afterAll(async () => {
  await time.stop(true)
  await panel.stop()
  rmSync(tools, { recursive: true })
})

async function run(domain: string, as = key) {
  slept = []
  const child = Bun.spawn([SCRIPT, domain], {
    env: { PATH: `${tools}:/usr/bin:/bin`, NCP_URL: panel.origin, NCP_KEY: as },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  return outputOf(child, 'the example')
}

async function domains(): Promise<string[]> {
  // The script may have left no request of this minute.
  panel.clock.advance(60)
  return (await panel.get<{ domain: string }[]>('/sites', ada.token)).data.map(({ domain }) => domain)
}

const ten = Array.from({ length: 10 }, (_, index) => `site${index + 1}.example.com`)

test('creates ten sites, and waits exactly as long as each 429 says', async () => {
  const { exitCode, stdout, stderr } = await run('example.com')
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(stdout.trimEnd().split('\n')).toEqual(ten.map((domain) => `${domain} created`))
  // The first request begins a minute, and time stands still but for what the script waits.
  expect(slept).toEqual([60, 60])
  expect(await domains()).toEqual(ten)
})

test('run again, creates only the missing ones and nothing twice', async () => {
  const again = await run('example.com')
  expect([again.exitCode, again.stdout, again.stderr]).toEqual([0, '', ''])
  panel.clock.advance(60)
  const [first] = (await panel.get<{ id: number }[]>('/sites', ada.token)).data
  await panel.delete(`/sites/${first?.id}`, ada.token)
  const mended = await run('example.com')
  expect([mended.exitCode, mended.stdout]).toEqual([0, 'site1.example.com created\n'])
  expect((await domains()).sort()).toEqual(ten.toSorted())
})

test('stops at any other error and reports it, without the key', async () => {
  const refused = await run('no_domain')
  expect([refused.exitCode, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toBe('validation error: domain: must be a full domain name, such as www.example.com\n')
  const unsendable = await run('not a domain')
  expect([unsendable.exitCode, unsendable.stdout]).toEqual([3, ''])
  expect(unsendable.stderr).toStartWith('curl: (3) ')
  const stranger = await run('example.com', `ncp_${'0'.repeat(64)}`)
  expect([stranger.exitCode, stranger.stdout]).toEqual([1, ''])
  expect(stranger.stderr).toBe('not authenticated: Authentication required\n')
})
