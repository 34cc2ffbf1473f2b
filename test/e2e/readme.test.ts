/** The README does what it says, and the commands that docs/operations lists exist. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Installation, install, type RunningBinary } from '../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const root = join(import.meta.dir, '../..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const commands = readFileSync(join(root, 'docs/operations/commands.md'), 'utf8')

let here: Installation
let panel: RunningBinary
beforeAll(async () => {
  here = await install()
  panel = await here.serve()
})
afterAll(() => here.remove())

test('the quick start creates a customer, a key and a site, and lists it', async () => {
  const lines = [...readme.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block]) => block).join('\n')
  expect(lines).toContain('localhost:3443')
  const script = `set -euo pipefail\n${lines.replaceAll('localhost:3443', new URL(panel.origin).host)}`
  const shell = Bun.spawnSync(['bash', '-c', script], { cwd: here.directory, env: { PATH: '/usr/bin:/bin' } })
  expect(shell.stderr.toString()).toBe('')
  expect(shell.exitCode).toBe(0)
  const answers = shell.stdout.toString().split('}{').length
  expect(answers).toBeGreaterThan(3)
  const list = JSON.parse(/\{"data":\[.*$/.exec(shell.stdout.toString())?.[0] ?? '{}')
  expect(list).toMatchObject({
    data: [{ domain: 'www.example.com', aliases: ['example.com'] }],
    error: null,
    message: '',
  })
})

test('every command named there exists', async () => {
  const names = [...commands.matchAll(/^ncp ([a-z].*)$/gm)].flatMap(([, line = '']) => {
    const [group = '', ...rest] = line.replaceAll(/\[[^\]]*\]/g, '').split(/\s+/)
    const alternatives = rest
      .join(' ')
      .split('|')
      .flatMap((part) => /^[a-z][a-z0-9-]*/.exec(part.trim()) ?? [])
    return alternatives.length === 0 ? [[group]] : alternatives.map((name) => [group, name])
  })
  expect(names.length).toBeGreaterThan(5)
  for (const name of names) {
    const { exitCode, stdout } = await here.run([...name, '--help'])
    expect([name, exitCode, stdout.startsWith(`Usage: ncp ${name.join(' ')}`)]).toEqual([name, 0, true])
  }
})

test('the scripts of the first two commands are in package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  for (const [, name = ''] of readme.matchAll(/npx -y bun (?:run )?(\w+)/g)) expect(scripts).toHaveProperty(name)
})
