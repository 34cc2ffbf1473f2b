/**
 * The most expensive requests: how long does each hold the event loop, with a million audit entries, 100,000 sites and
 * 100,000 users, half of them in one account?
 *
 *   bun bench/costliest.ts [directory]      a few minutes; the data is kept in the directory for the next run
 *
 * The panel runs in this process, and every turn of the event loop is timed. The result for a request is its longest turn,
 * the smallest of several runs: other load on the machine can only make it longer.
 */
import { Database } from 'bun:sqlite'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../src/app.ts'
import { loadConfig } from '../src/config/load.ts'
import { systemClock } from '../src/core/clock.ts'
import { openPanel } from '../src/panel.ts'
import { noLog } from '../test/harness/log.ts'
import { emailOf, makeData, PASSWORD } from './data.ts'

const RUNS = 5
const ENTRIES = 1_000_000
const SIZE = { keys: 10_000, users: 100_000, sites: 100_000 }
/** Users of the data set. */
const CUSTOMER = 1
const ADMINISTRATOR = 2
const LONG = `${'x'.repeat(60)}.${'y'.repeat(60)}.${'z'.repeat(60)}`

type Request = { method?: string; path: string; as?: string; body?: (run: number) => object; runs?: number }

const directory = process.argv[2] ?? join(tmpdir(), 'ncp-bench')
const data = await largeData()
const config = { ...loadConfig({}, {}), data, limitUser: 1_000_000, limitLogin: 1_000_000, limitAnonymous: 1_000_000 }
const panel = await openPanel({ config, clock: systemClock, log: noLog })
const app = createApp(panel, () => '127.0.0.1')
const rows: object[] = []
panel.readiness.set(true)
try {
  const customer = await login(emailOf(CUSTOMER))
  const administrator = await login(emailOf(ADMINISTRATOR))
  const aliases = (prefix: string) => Array.from({ length: 100 }, (_, i) => `${prefix}${i}.${LONG}.example`)
  const requests: [string, Request][] = [
    ['own audit log, 1,000 of 500,000', { path: '/audit-log?limit=1000', as: customer }],
    ['own audit log, an action that is not there', { path: '/audit-log?action=user.delete', as: customer }],
    [
      'own audit log, a time that is not there',
      { path: '/audit-log?from=2001-01-01T00:00:00Z&to=2001-01-02T00:00:00Z', as: customer },
    ],
    ['own audit log, refused', { path: '/audit-log?limit=0&from=never&action=x', as: customer }],
    ['sites, a page of the largest', { path: '/sites?limit=1000', as: customer }],
    ['sites, a search that finds nothing in 50,000', { path: '/sites?domain=nothing-RUN', as: customer }],
    ['sites, refused', { path: '/sites?subscription_id=2', as: customer }],
    ['sessions', { path: '/auth/sessions?limit=1000', as: customer }],
    ['API keys', { path: '/auth/api-keys?limit=1000', as: customer }],
    ['subscriptions', { path: '/subscriptions?limit=1000', as: customer }],
    [
      'create a site with 100 names, where 50,000 are counted',
      {
        method: 'POST',
        path: '/sites',
        as: customer,
        body: (run) => ({ domain: `new${run}.example`, aliases: aliases(`new${run}a`) }),
      },
    ],
    [
      'create a site, refused for its last name',
      {
        method: 'POST',
        path: '/sites',
        as: customer,
        body: () => ({ domain: 'bad.example', aliases: [...aliases('bad').slice(1), 'no name'] }),
      },
    ],
    [
      'change 100 names of a site',
      { method: 'PATCH', path: '/sites/1', as: customer, body: (run) => ({ aliases: aliases(`changed${run}a`) }) },
    ],
    [
      'administrator: sites, a search that finds nothing in 100,000',
      { path: '/sites?domain=nothing-RUN', as: administrator },
    ],
    ['administrator: users, a search that finds nothing', { path: '/admin/users?email=nothing', as: administrator }],
    ['administrator: users, of one role', { path: '/admin/users?role=admin&limit=1000', as: administrator }],
    ['administrator: users, 1,000', { path: '/admin/users?limit=1000', as: administrator }],
    ['administrator: subscriptions, of a status', { path: '/admin/subscriptions?status=suspended', as: administrator }],
    [
      'administrator: audit log of a user',
      { path: `/admin/audit-log?user_id=${CUSTOMER}&limit=1000`, as: administrator },
    ],
    [
      'administrator: audit log, an action that is not there',
      { path: '/admin/audit-log?action=user.delete', as: administrator },
    ],
    ['readiness', { path: '/readyz' }],
    [
      'administrator: delete the user with 50,000 sites',
      { method: 'DELETE', path: `/admin/users/${CUSTOMER}`, as: administrator, runs: 1 },
    ],
  ]
  for (const [name, request] of requests) {
    const statuses = new Set<number>()
    const turns: number[] = []
    let bytes = 0
    for (let run = 0; run < (request.runs ?? RUNS); run++) {
      turns.push(
        await longestTurn(async () => {
          const response = await send(request, run)
          statuses.add(response.status)
          bytes = (await response.arrayBuffer()).byteLength
        }),
      )
    }
    rows.push(row(name, [...statuses].join(), turns, bytes))
  }
  const jobs: [string, () => Promise<unknown>][] = [
    ['job: retention, 20,000 entries', () => panel.auditRetention.prune()],
    ['job: uses of 10,000 keys', async () => useKeys()],
    ['job: API keys that expire', () => panel.expiryNotices.send()],
    ['job: emails that wait', () => panel.outbox.deliver()],
  ]
  for (const [name, job] of jobs) rows.push(row(name, '', [await longestTurn(job)], 0))
  process.stdout.write(`${table(rows)}\n`)
} finally {
  await panel.close()
  rmSync(data, { recursive: true, force: true })
}

function row(name: string, status: string, turns: number[], bytes: number) {
  return {
    request: name,
    status,
    'longest turn, ms': Math.min(...turns).toFixed(1),
    'answer, KB': Math.round(bytes / 1000),
  }
}

function table(rows: object[]): string {
  const names = Object.keys(rows[0] ?? {})
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(names), line(names.map(() => '---')), ...rows.map((row) => line(Object.values(row).map(String)))].join(
    '\n',
  )
}

/** @returns the longest turn of the event loop while `work` is done, in milliseconds */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let isDone = false
  const turning = (async () => {
    let last = performance.now()
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve))
      const now = performance.now()
      longest = Math.max(longest, now - last)
      last = now
    }
  })()
  await work()
  // The turn in which it ended counts too.
  await new Promise((resolve) => setImmediate(resolve))
  isDone = true
  await turning
  return longest
}

async function send({ method = 'GET', path, as, body }: Request, run: number): Promise<Response> {
  // Another search each time: what was found is remembered.
  const url = `http://localhost:3443${path.startsWith('/readyz') ? '' : '/api/v1'}${path.replace('RUN', `${run}`)}`
  const headers = {
    host: 'localhost:3443',
    ...(as !== undefined && { authorization: `Bearer ${as}` }),
    ...(body && { 'content-type': 'application/json' }),
  }
  const text = body && JSON.stringify(body(run))
  return app.fetch(
    new Request(url, {
      method,
      headers: { ...headers, ...(text && { 'content-length': `${text.length}` }) },
      ...(text && { body: text }),
    }),
  )
}

async function login(email: string): Promise<string> {
  const response = await send({ method: 'POST', path: '/auth/login', body: () => ({ email, password: PASSWORD }) }, 0)
  const { data, message } = (await response.json()) as { data: { token: string } | null; message: string }
  if (!data) throw new Error(`login of ${email}: ${message}`)
  return data.token
}

async function useKeys(): Promise<void> {
  for (let id = 1; id <= 10_000; id++)
    panel.usage.record({ kind: 'api_key', keyId: id, secretHash: '', expiresAt: null })
  await panel.usage.flush()
}

/** A copy that this run may change. */
async function largeData(): Promise<string> {
  const small = await makeData(directory, SIZE)
  const large = `${small}-large`
  if (!existsSync(large)) {
    const unfinished = `${large}.new`
    rmSync(unfinished, { recursive: true, force: true })
    cpSync(small, unfinished, { recursive: true })
    makeExpensive(join(unfinished, 'ncp.db'))
    cpSync(unfinished, large, { recursive: true })
    rmSync(unfinished, { recursive: true, force: true })
  }
  const copy = mkdtempSync(join(tmpdir(), 'ncp-costliest-'))
  cpSync(large, copy, { recursive: true })
  return copy
}

function makeExpensive(file: string): void {
  using db = new Database(file, { strict: true })
  db.run('PRAGMA synchronous = OFF')
  const now = Date.now()
  const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $count)'
  db.transaction(() => {
    db.query("UPDATE users SET role = 'admin' WHERE id = ?").run(ADMINISTRATOR)
    db.run('UPDATE sites SET subscription_id = 1 WHERE id <= 50000')
    db.run('UPDATE subscriptions SET max_sites = 60000 WHERE id = 1')
    db.query(
      `${numbers} INSERT INTO site_domains (domain, site_id, position, reversed)
       SELECT 'a' || i || '.${LONG}.example', (i - 1) / 100 + 1, (i - 1) % 100 + 1, 'example.${LONG}.a' || i || '.' FROM n`,
    ).run({ count: 20_000 })
    // Half of them the customer's; the first 20,000 older than they are kept.
    db.query(
      `${numbers} INSERT INTO audit_log (id, created_at, actor_id, credential_kind, credential_id, address, request_id, action,
         account_id, target_type, target_id, result, reason, times, details, hash)
       SELECT i, $now - ($count - i) * 1000 - iif(i <= 20000, 40000000000, 0), owner, 'api_key', owner, '192.0.2.1',
         'request', 'site.change', owner, 'site', 1, 'success', NULL, 1, '{"php_version":"8.4"}', $hash
       FROM (SELECT i, iif(i % 2 = 0, ${CUSTOMER}, 3 + i % 99000) AS owner FROM n)`,
    ).run({ count: ENTRIES, now, hash: '0'.repeat(64) })
  })()
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
}
