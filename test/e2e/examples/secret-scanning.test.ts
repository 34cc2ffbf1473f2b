/** The secret-scanner rule finds a committed key, and nothing else. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Panel, startPanel } from '../../harness/panel.ts'

// The scanner takes a moment to start.
setDefaultTimeout(600_000)

const root = join(import.meta.dir, '../../..')
const repository = mkdtempSync(join(tmpdir(), 'ncp-planted-'))

let panel: Panel
let key: string
beforeAll(async () => {
  panel = await startPanel()
  key = await panel.key((await panel.customer()).token)
})
afterAll(async () => {
  await panel.stop()
  rmSync(repository, { recursive: true })
})

/** The files of the repository in which the scanner finds something. */
function scan(files: Record<string, string>): string[] {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(repository, name), text)
  const { stdout, stderr, exitCode } = Bun.spawnSync(
    [
      process.execPath,
      '--bun',
      join(root, 'node_modules/.bin/secretlint'),
      '--secretlintrc',
      join(root, 'examples/secret-scanning/.secretlintrc.json'),
      '--format',
      'unix',
      '--maskSecrets',
      ...Object.keys(files),
    ],
    // The rules are found from there, where they are installed.
    { cwd: repository, env: { PATH: '/usr/bin:/bin', NODE_PATH: join(root, 'node_modules') } },
  )
  expect(stderr.toString()).toBe('')
  expect(stdout.toString()).not.toContain(key)
  // PATH:LINE:COLUMN: MESSAGE
  const found = [...stdout.toString().matchAll(/^\S*\/([^/:\s]+):\d+:\d+: /gm)].map(([, name = '']) => name)
  expect(exitCode).toBe(found.length > 0 ? 1 : 0)
  return found.sort()
}

test('a key is found wherever it was planted', () => {
  const planted = {
    '.env': `NCP_KEY=${key}\n`,
    'deploy.sh': `curl -H "Authorization: Bearer ${key}" https://panel.example.com\n`,
    'config.json': JSON.stringify({ key }),
    'notes.md': `the key is ${key}.`,
    'url.txt': `https://example.com/?key=${key}&x=1`,
  }
  expect(scan(planted)).toEqual(Object.keys(planted).sort())
})

test('text that only resembles a key is not reported', () => {
  const harmless = {
    'prefix.txt': `${key.slice(0, 20)}…\n`,
    'short.txt': `${key.slice(0, -1)}\n`,
    'long.txt': `${key}0\n`,
    'upper.txt': `${key.toUpperCase()}\n`,
    'word.txt': `my${key}\n`,
    'hash.txt': `${Bun.SHA256.hash(key, 'hex')}\n`,
  }
  expect(scan(harmless)).toEqual([])
})

test('the rule matches the pattern that the OpenAPI document publishes', async () => {
  const pattern = String.raw`\bncp_[0-9a-f]{64}\b`
  const yaml = await (await fetch(`${panel.origin}/api/docs/openapi.yaml`)).text()
  const { rules } = await Bun.file(join(root, 'examples/secret-scanning/.secretlintrc.json')).json()
  expect(rules[0].options.patterns[0].patterns).toEqual([`/${pattern}/`])
  const document = Bun.YAML.parse(yaml) as { info: { description: string } }
  expect(document.info.description).toContain(`\`${pattern}\``)
})
