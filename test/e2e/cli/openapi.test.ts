/** The OpenAPI document on the command line: the one that a panel serves, on a machine without a panel. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { type Installation, install } from '../../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

let here: Installation
beforeEach(async () => {
  here = await install()
})
afterEach(() => here.remove())

test('prints exactly the bytes that a panel serves', async () => {
  const panel = await here.serve()
  const served = await (await panel.request('/api/docs/openapi.yaml')).text()
  expect(served).toStartWith('openapi: 3.1.0\n')
  expect(await here.run(['openapi'])).toEqual({ exitCode: 0, stdout: served, stderr: '' })
})

test('prints the same document as JSON', async () => {
  const yaml = await here.run(['openapi'])
  const json = await here.run(['openapi', '--json'])
  expect([json.exitCode, json.stderr]).toEqual([0, ''])
  expect(JSON.parse(json.stdout)).toEqual(Bun.YAML.parse(yaml.stdout))
  expect(json.stdout).toEndWith('}\n')
})

test('reads no configuration and creates nothing', async () => {
  const environment = { NCP_CONFIG: '/nonexistent/ncp.toml', NCP_PORT: 'none' }
  for (const args of [['openapi'], ['openapi', '--json']]) {
    expect((await here.run(args, { environment })).exitCode).toBe(0)
  }
  expect(readdirSync(here.directory)).toEqual(['ncp'])
})

test('treats a reader that goes away as no error', () => {
  const script = 'set -o pipefail; ./ncp openapi | head -1; echo $?'
  const { stdout, stderr } = Bun.spawnSync(['bash', '-c', script], {
    cwd: here.directory,
    env: { PATH: '/usr/bin:/bin' },
  })
  expect([stdout.toString(), stderr.toString()]).toEqual(['openapi: 3.1.0\n0\n', ''])
})

test('refuses an option that it does not have', async () => {
  const { exitCode, stdout, stderr } = await here.run(['openapi', '--yml'])
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr).toContain("See 'ncp openapi --help'.")
})
