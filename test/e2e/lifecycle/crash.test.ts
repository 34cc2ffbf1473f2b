/** kill -9 at any moment: whatever was acknowledged is there at the next start. NCP_TEST_KILLS sets how often. */
import { Database } from 'bun:sqlite'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { PASSWORD } from '../../harness/panel.ts'
import { workaroundEnvironment } from '../../harness/workarounds.ts'

const KILLS = Number(process.env.NCP_TEST_KILLS ?? 6)
// A first run compiles the binary.
setDefaultTimeout(60_000 + KILLS * 3000)

const WRITERS = 8
const NO_LIMIT = { NCP_LIMIT_USER: '1000000', NCP_LIMIT_LOGIN: '1000000' }
/** By then a start has come as far as it will. */
const START_MS = 150

const installations: Installation[] = []
afterAll(() => Promise.all(installations.map((installation) => installation.remove())))

async function fresh(): Promise<Installation> {
  const installation = await install('ncp-crash-')
  installations.push(installation)
  return installation
}

const upTo = (most: number) => Math.floor(Math.random() * (most + 1))

/** Starts the panel, and kills it before it is known how far it came. */
async function killWhileStarting({ directory }: Installation): Promise<void> {
  const child = Bun.spawn(['./ncp', 'serve', '--port', '0'], {
    cwd: directory,
    env: { PATH: '/usr/bin:/bin', NCP_CONFIG: '/dev/null', ...workaroundEnvironment },
    stdout: 'ignore',
    stderr: 'ignore',
  })
  await Bun.sleep(upTo(START_MS))
  child.kill('SIGKILL')
  await child.exited
}

/** Every page of a list. */
async function all<Row>(panel: RunningBinary, path: string, as: string): Promise<Row[]> {
  const rows: Row[] = []
  let next: string | undefined = `${path}?limit=1000`
  while (next !== undefined) {
    const answer: Awaited<ReturnType<typeof panel.send<Row[]>>> = await panel.send<Row[]>('GET', next, { as })
    expect(answer.status).toBe(200)
    rows.push(...answer.data)
    next = /<[^>]*\/api\/v1([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]
  }
  return rows
}

test('loses no acknowledged key, site, deletion or audit entry', async () => {
  const here = await fresh()
  const created = await here.run(['user', 'create', '--email', 'ada@example.com', '--password-stdin', '--json'], {
    stdin: PASSWORD,
  })
  const userId: number = JSON.parse(created.stdout).id
  const sites = new Set<number>()
  const deleted = new Set<number>()
  const keys = new Map<number, string>()
  let names = 0
  let tokens: { admin: string; customer: string } | undefined

  async function login(panel: RunningBinary) {
    const admin = (await panel.login('admin@localhost', here.adminPassword())).data.token
    const settings = { max_api_keys_per_user: 10_000 }
    expect((await panel.send('PATCH', '/admin/settings', { as: admin, body: settings })).status).toBe(200)
    const body = { user_id: userId, name: 'Hosting' }
    expect((await panel.send('POST', '/admin/subscriptions', { as: admin, body })).status).toBe(201)
    return { admin, customer: (await panel.login('ada@example.com', PASSWORD)).data.token }
  }

  /** Writes on and on. Ends by an error when the panel is killed; an answer that came counts. */
  async function write(panel: RunningBinary, as: string, onAnswer: () => void): Promise<void> {
    const mine: number[] = []
    for (let turn = 0; ; turn++) {
      if (turn % 3 === 0) {
        const body = { name: `Key ${++names}` }
        const { status, data } = await panel.send<{ id: number; key: string }>('POST', '/auth/api-keys', { as, body })
        expect(status).toBe(201)
        keys.set(data.id, data.key)
      } else if (turn % 5 === 4) {
        const [id = 0] = mine.splice(0, 1)
        // From here on it is unknown whether it exists, until the response says so.
        sites.delete(id)
        expect((await panel.send('DELETE', `/sites/${id}`, { as })).status).toBe(200)
        deleted.add(id)
      } else {
        const body = { domain: `site${++names}.example` }
        const { status, data } = await panel.send<{ id: number }>('POST', '/sites', { as, body })
        expect(status).toBe(201)
        sites.add(data.id)
        mine.push(data.id)
      }
      onAnswer()
    }
  }

  for (let kill = 0; kill < KILLS; kill++) {
    if (kill % 3 === 2) await killWhileStarting(here)
    const panel = await here.serve(['--no-tls'], NO_LIMIT)
    tokens ??= await login(panel)
    const { customer } = tokens
    // The newest key is the one that was closest to the kill.
    const [newest] = [...keys.values()].slice(-1)
    if (newest) expect((await panel.send('GET', '/auth/me', { as: newest })).status).toBe(200)

    let answersLeft = 1 + upTo(40)
    const writers = Array.from({ length: WRITERS }, () =>
      write(panel, customer, () => {
        if (--answersLeft === 0) panel.signal('SIGKILL')
      }),
    )
    const outcomes = await Promise.allSettled(writers)
    for (const outcome of outcomes) {
      // Cut off, and not refused by an assertion.
      if (outcome.status === 'rejected') expect(String(outcome.reason)).toMatch(/socket|ECONN|connect|closed/i)
    }
    await panel.ended()

    const database = new Database(here.inData('ncp.db'))
    expect(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    expect(database.query('PRAGMA foreign_key_check').all()).toEqual([])
    database.close()
  }

  const panel = await here.serve(['--no-tls'], NO_LIMIT)
  const { admin, customer } = tokens ?? (await login(panel))
  const present = new Set((await all<{ id: number }>(panel, '/sites', customer)).map(({ id }) => id))
  expect([...sites].filter((id) => !present.has(id))).toEqual([])
  expect([...deleted].filter((id) => present.has(id))).toEqual([])
  const listed = new Set((await all<{ id: number }>(panel, '/auth/api-keys', customer)).map(({ id }) => id))
  expect([...keys.keys()].filter((id) => !listed.has(id))).toEqual([])

  const entries = await all<{ action: string; target_id: number | null }>(panel, '/admin/audit-log', admin)
  const told = new Set(entries.map(({ action, target_id }) => `${action} ${target_id}`))
  const expected = [
    ...[...sites].map((id) => `site.create ${id}`),
    ...[...deleted].flatMap((id) => [`site.create ${id}`, `site.delete ${id}`]),
    ...[...keys.keys()].map((id) => `api_key.create ${id}`),
  ]
  expect(expected.length).toBeGreaterThan(KILLS)
  expect(expected.filter((entry) => !told.has(entry))).toEqual([])
  const { exitCode, stdout } = await here.run(['audit', 'verify', '--json'])
  expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { valid: true, entries: entries.length }])
  expect(await panel.stop()).toBe(0)
  if (process.env.NCP_TEST_KILLS) {
    process.stdout.write(`${KILLS} kills: ${sites.size} sites, ${deleted.size} deletions, ${keys.size} keys, `)
    process.stdout.write(`${entries.length} audit entries, none lost\n`)
  }
})

test('during the very first start leaves an installation that starts', async () => {
  for (let round = 0; round < Math.ceil(KILLS / 2); round++) {
    const here = await fresh()
    await killWhileStarting(here)
    await killWhileStarting(here)
    const panel = await here.serve()
    expect((await panel.login('admin@localhost', here.adminPassword())).status).toBe(200)
    expect(await panel.stop()).toBe(0)
    await here.remove()
  }
})
