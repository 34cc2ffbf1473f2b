/** What the compiled binary gives the shell and the manual: scripts that the shells themselves run. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { schema } from '../../../src/config/schema.ts'
import { fileKeyOf } from '../../../src/config/setting.ts'
import { type Installation, install } from '../../harness/binary.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

/** Words that were typed, the last one unfinished, and what has to be among the answers, or is all of them. */
const CASES: { typed: string[]; some?: string[]; exactly?: string[] }[] = [
  { typed: ['se'], exactly: ['serve', 'session'] },
  { typed: ['user', ''], some: ['create', 'list', 'passwd', 'reset-2fa'] },
  { typed: ['user', 'create', '--na'], exactly: ['--name'] },
  { typed: ['user', 'create', '--role', ''], exactly: ['admin', 'customer'] },
  { typed: ['user', 'create', '--json', '--role', 'c'], exactly: ['customer'] },
  { typed: ['user', 'create', '--email', ''], exactly: [] },
  { typed: ['completion', ''], some: ['bash', 'fish', 'zsh'] },
  { typed: ['upgrade', 'my'], exactly: ['my cert.pem', 'my data'] },
  { typed: ['upgrade', '--su'], exactly: ['--sums'] },
  { typed: ['serve', '--tls-cert', 'my'], exactly: ['my cert.pem', 'my data'] },
  { typed: ['serve', '--data', 'my'], exactly: ['my data'] },
]

let here: Installation
beforeAll(async () => {
  here = await install()
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { exitCode, stdout } = await here.run(['completion', shell])
    expect(exitCode).toBe(0)
    writeFileSync(here.path(shell), stdout)
  }
  writeFileSync(here.path('my cert.pem'), '')
  mkdirSync(here.path('my data'))
})
afterAll(() => here.remove())

const quoted = (words: string[]) => words.map((word) => `'${word}'`).join(' ')

/** Runs a script of a shell. @returns its lines */
function lines(shell: string, args: string[]): string[] {
  const env = { PATH: '/usr/bin:/bin', HOME: here.directory, TERM: 'dumb' }
  const { stdout, stderr } = Bun.spawnSync([shell, ...args], { cwd: here.directory, env })
  expect(stderr.toString()).toBe('')
  return stdout
    .toString()
    .split('\n')
    .filter((line) => line !== '')
}

const answers = {
  bash: (typed: string[]) => {
    const words = `COMP_WORDS=(ncp ${quoted(typed)}) COMP_CWORD=${typed.length}`
    return lines('bash', ['--norc', '-c', `. ./bash; ${words}; _ncp; printf '%s\\n' "\${COMPREPLY[@]}"`])
  },
  // As bashcompinit calls a function of bash.
  zsh: (typed: string[]) => {
    const words = `COMP_WORDS=(ncp ${quoted(typed)}); COMP_CWORD=${typed.length}`
    const options = 'emulate -L sh; setopt kshglob ksharrays noshglob braceexpand'
    const run = `complete_it() { ${options}; ${words}; _ncp; print -l -- "\${COMPREPLY[@]}" }; complete_it`
    const given = lines('zsh', ['-f', '-c', `autoload -U compinit; compinit -D -u; . ./zsh; ${run}`])
    // Its `compgen` gives all, of which the shell then takes those that fit.
    return given.filter((word) => word.startsWith(typed.at(-1) ?? ''))
  },
  fish: (typed: string[]) => {
    const words = ['ncp', ...typed].join(' ')
    return lines('fish', ['--no-config', '-c', `source ./fish; complete -C "${words}"`]).map((line) =>
      (line.split('\t')[0] ?? '').replace(/\/$/, ''),
    )
  },
}

describe.each(Object.keys(answers) as (keyof typeof answers)[])('%s', (shell) => {
  test.skipIf(Bun.which(shell) === null).each(CASES)('completes $typed', ({ typed, some, exactly }) => {
    const given = answers[shell](typed)
    if (exactly) expect(given.sort()).toEqual(exactly)
    else expect(given).toEqual(expect.arrayContaining(some ?? []))
  })
})

test('the help and the manual page describe what --no-tls does', async () => {
  for (const args of [['serve', '--help'], ['man']]) {
    const { stdout } = await here.run(args)
    const text = stdout.replaceAll('\\-', '-').replaceAll(/\s+/g, ' ')
    expect(text).toMatch(/--no-tls (\.?\w+ )?serve plain HTTP, behind a proxy that terminates TLS/i)
  }
})

test('another shell is a usage error', async () => {
  expect((await here.run(['completion', 'csh'])).exitCode).toBe(2)
})

describe('the manual page', () => {
  let page: string
  beforeAll(async () => {
    page = (await here.run(['man'])).stdout
  })

  test.skipIf(Bun.which('mandoc') === null)('has no mandoc errors', () => {
    const { exitCode, stdout } = Bun.spawnSync(['mandoc', '-T', 'lint', '-W', 'error'], { stdin: Buffer.from(page) })
    expect([exitCode, stdout.toString()]).toEqual([0, ''])
  })

  test('has every command and every setting', async () => {
    const plain = page.replaceAll('\\-', '-')
    const script = here.read('bash')
    const commands = [...script.matchAll(/^ {6}"([a-z0-9 -]+)"\) at=/gm)].map(([, path = '']) => path)
    expect(commands.length).toBeGreaterThan(20)
    for (const path of commands) {
      if (!commands.some((other) => other.startsWith(`${path} `))) expect(plain).toContain(`.SS ncp ${path}`)
    }
    for (const setting of Object.values(schema)) {
      expect(plain).toContain(setting.env)
      expect(plain).toContain(fileKeyOf(setting))
    }
  })
})
