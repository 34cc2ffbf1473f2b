/** Health of the compiled binary: what a load balancer, an operator and a container probe are told. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { ownCertificate } from '../../../src/tls/certificate.ts'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { createTestClock } from '../../harness/clock.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

type Check = { status: string; reason: string | null }
type Readiness = {
  data: { status: string; checks: Record<string, Check> } | null
  error: string | null
  message: string
}

const DAY_MS = 86_400_000
const OK = { status: 'ok', reason: null }

let here: Installation
let panel: RunningBinary
beforeAll(async () => {
  here = await install()
  panel = await here.serve()
})
afterAll(() => here.remove())

async function readiness(path = '/readyz?verbose', of = panel): Promise<[number, Readiness]> {
  const response = await of.request(path)
  return [response.status, (await response.json()) as Readiness]
}
const health = (...args: string[]) => here.run(['health', '--port', `${panel.port}`, ...args])

/** Does something to the database beside the panel. */
function meddle(sql: string): void {
  using database = new Database(here.inData('ncp.db'))
  database.run('PRAGMA busy_timeout = 60000')
  database.run(sql)
}

describe('a healthy panel', () => {
  test('reports each check on request, and otherwise only one word', async () => {
    const names = ['service', 'database', 'migrations', 'disk', 'certificate', 'outbox']
    const checks = Object.fromEntries(names.map((name) => [name, OK]))
    for (const path of ['/readyz?verbose', '/readyz?verbose=true']) {
      expect(await readiness(path)).toEqual([200, { data: { status: 'ok', checks }, error: null, message: '' }])
    }
    expect(await readiness('/readyz')).toEqual([200, { data: { status: 'ok' } as never, error: null, message: '' }])
    expect((await readiness('/readyz?verbose=maybe'))[0]).toBe(422)
    expect((await readiness('/readyz?verbos'))[0]).toBe(422)
  })

  test('makes ncp health exit with 0', async () => {
    const { exitCode, stdout, stderr } = await health()
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout.split('\n')).toContain('database\tok')
    const json = await health('--json')
    expect([json.exitCode, JSON.parse(json.stdout)]).toEqual([
      0,
      { ready: true, checks: expect.any(Object), message: '' },
    ])
  })
})

describe('a warning', () => {
  test('about undeliverable emails stops no request', async () => {
    const long = Date.now() - DAY_MS
    meddle(
      `INSERT INTO jobs (kind, payload, attempts, created_at, next_attempt_at, expires_at)
       VALUES ('email', '{"to":"ada@example.com","subject":"s","body":"b"}', 3, ${long}, ${long + 9 * DAY_MS}, ${long + 9 * DAY_MS})`,
    )
    const [status, { data }] = await readiness()
    expect([status, data?.checks.outbox]).toEqual([
      200,
      { status: 'warning', reason: 'emails cannot be sent; the log says why' },
    ])
    const { exitCode, stdout } = await health()
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('outbox\twarning: emails cannot be sent')])
    meddle('DELETE FROM jobs')
    expect((await readiness())[1].data?.checks.outbox).toEqual(OK)
  })

  test.each([
    // Half a day from where one number becomes the next.
    [4.5, 'expires in 5 days'],
    [-1, 'has expired'],
  ])('about a certificate with %d days left', async (days, reason) => {
    const directory = `pair${days}`
    mkdirSync(here.path(directory))
    const made = await ownCertificate(here.path(directory), createTestClock())
    // An hour less, for days are rounded up and a certificate begins at a whole second.
    const age = made.expiresAt - Date.now() - days * DAY_MS + DAY_MS / 24
    await ownCertificate(here.path(directory), createTestClock(Date.now() - age), { renew: true })
    const pair = ['--tls-cert', `${directory}/cert.pem`, '--tls-key', `${directory}/key.pem`]
    const other = await here.serve([...pair, '--data', `data${days}`])
    const response = await fetch(`${other.origin}/readyz?verbose`, { tls: { rejectUnauthorized: false } })
    const { data } = (await response.json()) as Readiness
    expect([response.status, data?.checks.certificate]).toEqual([200, { status: 'warning', reason }])
    await other.stop()
  })
})

describe('a failure', () => {
  test('of a database migrated by a newer version is 503 with its name, and makes ncp health exit with 1', async () => {
    meddle("INSERT INTO schema_migrations VALUES ('9999_future', 'x', 0)")
    const [status, { data, error, message }] = await readiness()
    expect([status, data, error]).toEqual([503, null, 'service unavailable'])
    expect(message).toBe(
      'Not ready: migrations are not those of this version; start the version that migrated the database',
    )
    expect((await readiness('/readyz'))[0]).toBe(503)
    const plain = await health()
    expect([plain.exitCode, plain.stdout, plain.stderr]).toEqual([1, '', `ncp: ${message}\n`])
    const json = await health('--json')
    expect([json.exitCode, JSON.parse(json.stdout)]).toEqual([1, { ready: false, checks: null, message }])
    meddle("DELETE FROM schema_migrations WHERE name = '9999_future'")
    expect((await readiness())[0]).toBe(200)
  })

  test('of a database that does not answer is 503, and clears with it', async () => {
    meddle('ALTER TABLE schema_migrations RENAME TO gone')
    const [status, { message }] = await readiness()
    expect([status, message]).toEqual([503, expect.stringContaining('database does not answer')])
    meddle('ALTER TABLE gone RENAME TO schema_migrations')
    expect((await readiness())[0]).toBe(200)
  })

  test('to reach a panel at all makes ncp health exit with 1', async () => {
    await panel.stop()
    const { exitCode, stderr } = await health()
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringMatching(/^ncp: the panel does not answer on localhost port \d+: /),
    ])
  })
})

test('ncp health needs to know the port', async () => {
  const { exitCode, stderr } = await here.run(['health', '--port', '0'])
  expect([exitCode, stderr]).toEqual([3, 'ncp: --port: set the port that the panel listens on\n'])
})
