/** The executable as a client, and the recipes for CI: on a machine that runs no panel, against a real one with its own certificate. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { requireUploadRoom } from '../../harness/directory.ts'
import { PASSWORD } from '../../harness/panel.ts'
import { onTerminal } from '../../harness/terminal.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const SITE = 'client.localhost'
const EXAMPLES = resolve(import.meta.dir, '../../../examples/ci')
const SCOPES = ['sites:read', 'deployments:read', 'deployments:write', 'logs:read']

let there: Installation
let panel: RunningBinary
/** The client's machine. */
let here: Installation
let key: string
let siteId: number
let token: string
let fingerprint: string
let environment: Record<string, string>
beforeAll(async () => {
  there = await install('ncp-client-panel-')
  here = await install('ncp-client-')
  requireUploadRoom(there.directory)
  const user = await there.run(['user', 'create', '--email', 'ada@example.com', '--password-stdin', '--json'], {
    stdin: PASSWORD,
  })
  panel = await there.serve([], { NCP_SITES_PORT: '0', NCP_SITES_HOST: '127.0.0.1' })
  fingerprint = /SHA-256 (\S+)/.exec(panel.stdout())?.[1] ?? ''
  const admin = (await panel.login('admin@localhost', there.adminPassword())).data.token
  const body = { user_id: JSON.parse(user.stdout).id, name: 'Hosting' }
  expect((await panel.send('POST', '/admin/subscriptions', { as: admin, body })).status).toBe(201)
  token = (await panel.login('ada@example.com', PASSWORD)).data.token
  siteId = await newSite(SITE)
  await newSite('other.localhost')
  key = await newKey({ scopes: SCOPES, sites: [siteId] })
  environment = { XDG_CONFIG_HOME: here.path('config'), HOME: here.path('home') }
  writeProject({ 'index.html': '<h1>one</h1>', '.env': 'SECRET=1', id_ed25519: 'x' })
})
afterAll(async () => {
  await there.remove()
  await here.remove()
})

async function newSite(domain: string): Promise<number> {
  const made = await panel.send<{ id: number }>('POST', '/sites', { as: token, body: { domain } })
  expect(made.status).toBe(201)
  return made.data.id
}

async function newKey(options: object): Promise<string> {
  const body = { name: 'CI', ...options }
  return (await panel.send<{ key: string }>('POST', '/auth/api-keys', { as: token, body })).data.key
}

function writeProject(files: Record<string, string>): void {
  rmSync(here.path('public'), { recursive: true, force: true })
  mkdirSync(here.path('public'))
  for (const [name, content] of Object.entries(files)) writeFileSync(here.path('public', name), content)
}

const run = (args: string[], more: Record<string, string> = {}, stdin?: string) =>
  here.run(args, { environment: { ...environment, ...more }, ...(stdin !== undefined && { stdin }) })
const inCi = () => ({ NCP_URL: panel.origin, NCP_KEY: key, NCP_FINGERPRINT: fingerprint })
const served = async (path = '') => {
  const site = await panel.send<{ urls: string[] }>('GET', `/sites/${siteId}`, { as: token })
  return (await fetch(`${site.data.urls[0]}${path}`)).text()
}

describe('ncp login', () => {
  test('accepts no certificate unseen, sends the key to none, and saves nothing then', async () => {
    const unseen = await run(['login', panel.origin], {}, key)
    expect([unseen.exitCode, unseen.stdout]).toEqual([3, ''])
    expect(unseen.stderr).toContain(fingerprint)
    expect(unseen.stderr).toContain('set NCP_FINGERPRINT')
    const other = fingerprint.replace(/^../, (byte) => (byte === '00' ? '11' : '00'))
    const wrong = await run(['login', panel.origin], { NCP_FINGERPRINT: other }, key)
    expect([wrong.exitCode, wrong.stderr]).toEqual([3, expect.stringContaining('shows another certificate')])
    const screen = await onTerminal(here, ['login', panel.origin], {
      environment,
      answers: [{ when: /to this certificate alone/, type: 'n' }],
    })
    expect([screen.exitCode, screen.lines.at(-1)]).toEqual([1, 'ncp: nothing was changed'])
    expect(existsSync(here.path('config'))).toBeFalse()
  })

  test('asks for the fingerprint and the key on a terminal, shows no key, and saves both for their owner alone', async () => {
    const screen = await onTerminal(here, ['login', panel.origin], {
      environment,
      answers: [
        { when: /to this certificate alone/, type: 'y' },
        { when: /API key/, type: `${key}\r` },
      ],
    })
    expect([screen.exitCode, screen.raw.includes(key)]).toEqual([0, false])
    expect(screen.lines.join('\n')).toContain('ada@example.com')
    const file = here.path('config/ncp/profiles.toml')
    expect([statSync(file).mode & 0o777, statSync(here.path('config/ncp')).mode & 0o777]).toEqual([0o600, 0o700])
    expect(readFileSync(file, 'utf8')).toContain(
      `url = "${panel.origin}"\nkey = "${key}"\nfingerprint = "${fingerprint}"`,
    )
  })

  test('takes a key from standard input alone, and none that the panel refuses', async () => {
    const argument = await run(['login', panel.origin, key], { NCP_FINGERPRINT: fingerprint }, '')
    expect(argument.exitCode).toBe(2)
    const unknown = await run(['login', panel.origin], { NCP_FINGERPRINT: fingerprint }, `ncp_${'0'.repeat(64)}`)
    expect([unknown.exitCode, unknown.stderr]).toEqual([5, expect.stringContaining('Authentication required')])
  })
})

describe('ncp deploy', () => {
  test('packs, uploads, waits and prints the address: by the profile, and then by the environment of CI', async () => {
    const first = await run(['deploy', 'public', '--site', SITE])
    expect([first.exitCode, first.stderr]).toEqual([0, expect.stringMatching(/^uploaded 1 file, \d+ bytes packed\n$/)])
    expect(first.stdout).toMatch(/^http:\/\/client\.localhost:\d+\n$/)
    expect(await served()).toBe('<h1>one</h1>')
    writeProject({ 'index.html': '<h1>two</h1>', 'shop.html': '' })
    // A machine that runs no panel: what a panel would read is not there, and nothing is made.
    const noPanel = { NCP_CONFIG: '/nowhere/ncp.toml', NCP_DATA: here.path('data'), XDG_CONFIG_HOME: here.path('none') }
    const second = await run(['deploy', 'public', '--site', SITE, '--json'], { ...inCi(), ...noPanel })
    expect([second.exitCode, second.stderr]).toEqual([0, ''])
    expect(JSON.parse(second.stdout)).toEqual({ url: first.stdout.trim(), site: SITE, deployment: 2 })
    expect(await served()).toBe('<h1>two</h1>')
    expect(readdirSync(here.directory).sort()).toEqual(['config', 'ncp', 'public'])
  })

  test('goes back with --rollback, and again, and to a number', async () => {
    const back = await run(['deploy', '--rollback', '--site', SITE])
    expect([back.exitCode, back.stderr]).toEqual([0, ''])
    expect(await served()).toBe('<h1>one</h1>')
    const further = await run(['deploy', '--rollback', '--site', SITE])
    expect([further.exitCode, further.stderr]).toEqual([5, `ncp: ${SITE} has no earlier deployment to go back to\n`])
    expect((await run(['deploy', '--rollback', '--to', '2', '--site', SITE])).exitCode).toBe(0)
    expect(await served()).toBe('<h1>two</h1>')
  })

  test('says by its exit code what went wrong, and leaves what was served', async () => {
    mkdirSync(here.path('bad'), { recursive: true })
    writeFileSync(here.path('bad/index.html'), '')
    // The panel itself serves no links.
    await Bun.$`ln -sf /etc/passwd ${here.path('bad/link')}`
    const failed = await run(['deploy', 'bad', '--site', SITE])
    expect([failed.exitCode, failed.stderr]).toEqual([6, expect.stringContaining('link')])
    rmSync(here.path('bad'), { recursive: true })
    expect(await served()).toBe('<h1>two</h1>')
    const [other, nobody] = [await run(['deploy', 'public', '--site', 'other.localhost']), here.path('nobody')]
    expect([other.exitCode, other.stderr]).toEqual([5, expect.stringContaining('the key sees no site other.localhost')])
    expect((await run(['deploy', 'public', '--site', SITE], { XDG_CONFIG_HOME: nobody })).exitCode).toBe(3)
    expect((await run(['deploy', 'public'])).exitCode).toBe(2)
    expect((await run(['deploy', '--rollback', 'public', '--site', SITE])).exitCode).toBe(2)
    const gone = { ...inCi(), NCP_URL: 'https://127.0.0.1:1' }
    expect((await run(['deploy', 'public', '--site', SITE], gone)).exitCode).toBe(8)
  })
})

test('ncp sites lists the sites that the key sees, and no others', async () => {
  expect((await run(['sites'])).stdout).toMatch(new RegExp(`^${siteId}\\t${SITE}\\tactive\\thttp://${SITE}:\\d+\n$`))
  expect(JSON.parse((await run(['sites', '--json'])).stdout)).toMatchObject([{ id: siteId, domain: SITE }])
  const all = await run(['sites'], { ...inCi(), NCP_KEY: await newKey({}) })
  expect(all.stdout.trim().split('\n').length).toBe(2)
})

test('ncp logs shows the last requests, and -f those that come', async () => {
  await served('/?before')
  const follow = Bun.spawn(['./ncp', 'logs', '-f', '--site', SITE], {
    cwd: here.directory,
    env: { PATH: '/usr/bin:/bin', ...environment },
    stdout: 'pipe',
  })
  const lines = follow.stdout.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const until = async (part: string) => {
    while (!text.includes(part)) text += (await lines.read()).value ?? ''
  }
  await until('/?before 200')
  await served('/?after')
  await until('/?after 200')
  expect(text.split('/?after').length).toBe(2)
  follow.kill('SIGINT')
  expect(await follow.exited).toBe(0)
  const last = await run(['logs', '--site', SITE, '--lines', '1'])
  expect(last.stdout).toMatch(/^\S+ 127\.0\.0\.1 GET \/\?after 200 12\n$/)
})

describe('the recipes', () => {
  type Step = { uses?: string; run?: string; env?: Record<string, string> }

  /** What a pipeline has set, besides what its recipe asks for. */
  const variables = () => ({
    ...inCi(),
    NCP_SITE: SITE,
    NCP_DOWNLOAD: `file://${here.path('ncp')}`,
    NCP_SHA256: new Bun.SHA256().update(readFileSync(here.path('ncp'))).digest('hex'),
  })
  const yaml = (name: string): unknown => Bun.YAML.parse(readFileSync(join(EXAMPLES, name), 'utf8'))

  async function shell(script: string, more: Record<string, string>, cwd = here.directory) {
    const child = Bun.spawn(['bash', '-eo', 'pipefail', '-c', script], {
      cwd,
      env: { PATH: '/usr/bin:/bin', HOME: here.path('home'), ...more },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { exitCode: await child.exited, stdout, stderr }
  }

  test('for GitHub Actions deploys with its own lines', async () => {
    const { jobs } = yaml('github-actions.yml') as { jobs: { deploy: { steps: Step[] } } }
    writeProject({ 'index.html': '<h1>github</h1>' })
    mkdirSync(here.path('runner'))
    const given: Record<string, string> = variables()
    const github = { GITHUB_SHA: '36c7d1b', GITHUB_WORKFLOW: 'Deploy', GITHUB_RUN_NUMBER: '7' }
    const runner = { RUNNER_TEMP: here.path('runner'), GITHUB_STEP_SUMMARY: here.path('runner/summary') }
    for (const { run: script, env = {} } of jobs.deploy.steps.filter(({ run }) => run !== undefined)) {
      // Only what the step asks for, as a runner gives it.
      const asked = Object.entries(env).map(([name, value]) => {
        const [, from = ''] = /^\$\{\{ (?:vars|secrets)\.(\w+) \}\}$/.exec(value) ?? []
        return [name, given[from] ?? '']
      })
      const step = await shell(`${script}`, { ...github, ...runner, ...Object.fromEntries(asked) })
      expect([script, step.exitCode, step.stderr.replace(/^uploaded .*\n/, '')]).toEqual([script, 0, ''])
    }
    expect(readFileSync(here.path('runner/summary'), 'utf8')).toMatch(/^Deployed to http:\/\/client\.localhost:\d+\n$/)
    expect(await served()).toBe('<h1>github</h1>')
  })

  test('for GitLab CI deploys with its own lines', async () => {
    const { deploy } = yaml('gitlab-ci.yml') as { deploy: { before_script: string[]; script: string[] } }
    const project = here.path('builds/project')
    mkdirSync(project, { recursive: true })
    writeProject({ 'index.html': '<h1>gitlab</h1>' })
    cpSync(here.path('public'), join(project, 'public'), { recursive: true })
    const gitlab = { CI_COMMIT_SHA: '36c7d1b', CI_PIPELINE_IID: '7' }
    const script = [...deploy.before_script, ...deploy.script].join('\n')
    const done = await shell(script, { ...variables(), ...gitlab }, project)
    expect([done.exitCode, done.stdout]).toEqual([0, expect.stringMatching(/^http:\/\/client\.localhost:\d+\n$/)])
    expect(await served()).toBe('<h1>gitlab</h1>')
  })

  test('for plain curl deploys, and says why a deployment failed', async () => {
    writeProject({ 'index.html': '<h1>curl</h1>', '.env': 'SECRET=1' })
    const curl = { ...inCi(), CURL_CA_BUNDLE: there.inData('tls/cert.pem') }
    const script = `${join(EXAMPLES, 'deploy.sh')} public ${siteId}`
    const done = await shell(script, curl)
    expect([done.exitCode, done.stderr, done.stdout]).toEqual([
      0,
      '',
      expect.stringMatching(/^deployment \d+ is served\n$/),
    ])
    expect(await served()).toBe('<h1>curl</h1>')
    await Bun.$`ln -sf /etc/passwd ${here.path('public/link')}`
    const failed = await shell(script, curl)
    expect([failed.exitCode, failed.stderr]).toEqual([1, expect.stringContaining('link')])
  })
})
