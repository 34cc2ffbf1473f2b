/** The metrics of the compiled binary: what Prometheus reads, and that the dashboard and the alerts ask for nothing else. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { PASSWORD } from '../../harness/panel.ts'
import { sendRaw } from '../../harness/raw.ts'
import { until } from '../../harness/until.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

type Sample = { name: string; labels: Record<string, string>; value: number }

let here: Installation
let panel: RunningBinary
let url: string
beforeAll(async () => {
  here = await install()
  panel = await here.serve([], { NCP_METRICS_PORT: '0', NCP_SITES_PORT: '0', NCP_LIMIT_ANONYMOUS: '20' })
  expect((await here.run(['backup', 'create'])).exitCode).toBe(0)
  url = await until('the line with the address', () => /^metrics on (\S+)$/m.exec(panel.stdout())?.[1])
})
afterAll(() => here.remove())

async function scrape(): Promise<Sample[]> {
  const text = await (await fetch(url)).text()
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text])
      return { name, labels: Object.fromEntries(pairs), value: Number(value) }
    })
}

/** The one sample of a name with these labels. */
async function sampleOf(name: string, labels: Record<string, string> = {}): Promise<number | undefined> {
  const found = (await scrape()).filter((sample) => sample.name === name && Bun.deepMatch(labels, sample.labels))
  expect(found.length).toBeLessThanOrEqual(1)
  return found[0]?.value
}

test('are available only on this machine, in the text format, and never on the port of the API', async () => {
  expect(new URL(url).hostname).toBe('127.0.0.1')
  const response = await fetch(url)
  expect(response.headers.get('content-type')).toStartWith('text/plain; version=0.0.4')
  expect((await fetch(new URL('/', url))).status).toBe(404)
  expect(await sendRaw(url, 'GET /metrics HTTP/1.0\r\n\r\n')).toStartWith('HTTP/1.1 200 ')
  expect(await sendRaw(url, 'GET //[ HTTP/1.0\r\n\r\n')).toStartWith('HTTP/1.1 404 ')
  expect((await panel.request('/metrics')).status).toBe(404)
})

test('count requests by route, status and credential', async () => {
  const token = (await panel.login('admin@localhost', here.adminPassword())).data.token
  const { key } = (await panel.send<{ key: string }>('POST', '/auth/api-keys', { as: token, body: { name: 'x' } })).data
  for (let count = 0; count < 3; count++) await panel.send('GET', '/sites', { as: key })
  await panel.send('GET', '/sites/99', { as: token })
  const count = (labels: Record<string, string>) => sampleOf('ncp_http_requests_total', labels)
  expect(await count({ route: '/api/v1/sites', method: 'GET', status: '200', credential: 'api_key' })).toBe(3)
  expect(await count({ route: '/api/v1/sites/:id', status: '404', credential: 'jwt' })).toBe(1)
  expect(await count({ route: '/api/v1/auth/login', method: 'POST', status: '200', credential: 'none' })).toBe(1)

  const duration = { route: '/api/v1/auth/login', method: 'POST' }
  expect(await sampleOf('ncp_http_request_duration_seconds_count', duration)).toBe(1)
  expect(await sampleOf('ncp_http_request_duration_seconds_bucket', { ...duration, le: '+Inf' })).toBe(1)
  // A hash takes its time on any machine.
  expect(await sampleOf('ncp_http_request_duration_seconds_bucket', { ...duration, le: '0.001' })).toBe(0)
  expect(await sampleOf('ncp_http_request_duration_seconds_sum', duration)).toBeGreaterThan(0.001)
})

test('count the sites that are served, and the requests to them by class', async () => {
  const admin = (await panel.login('admin@localhost', here.adminPassword())).data.token
  const created = await here.run(['user', 'create', '--email', 'ada@example.com', '--password-stdin', '--json'], {
    stdin: PASSWORD,
  })
  const body = { user_id: JSON.parse(created.stdout).id, name: 'Own' }
  const { id } = (await panel.send<{ id: number }>('POST', '/admin/subscriptions', { as: admin, body })).data
  const as = (await panel.login('ada@example.com', PASSWORD)).data.token
  for (const domain of ['one.example', 'two.example']) {
    const site = (await panel.send<{ id: number }>('POST', '/sites', { as, body: { domain, subscription_id: id } }))
      .data
    await panel.send('GET', `/sites/${site.id}?wait=observed`, { as })
  }
  expect(await sampleOf('ncp_sites', { state: 'serving' })).toBe(2)
  const port = /^sites on port (\d+)$/m.exec(panel.stdout())?.[1]
  for (const host of ['one.example', 'unknown.example', 'unknown.example']) {
    await fetch(`http://127.0.0.1:${port}/`, { headers: { host } })
  }
  expect(await sampleOf('ncp_site_requests_total', { class: '4xx' })).toBe(2)
  // Without those by which the panel itself proves each site.
  expect(await sampleOf('ncp_site_requests_total', { class: '2xx' })).toBe(1)
  expect(await sampleOf('ncp_site_failures_total')).toBe(0)
})

test('do not grow with invented paths, and count refusals', async () => {
  const before = (await scrape()).length
  let refused = 0
  for (let number = 0; number < 30; number++) {
    const { status } = await panel.request(`/invented/${number}?${number}`, { method: 'PUT' })
    if (status === 429) refused++
  }
  expect(refused).toBeGreaterThan(0)
  const after = await scrape()
  // One more route, in two statuses and a histogram, and one more policy.
  expect(after.length - before).toBeLessThan(30)
  expect(await sampleOf('ncp_http_requests_total', { route: 'none', status: '429' })).toBe(refused)
  expect(await sampleOf('ncp_rate_limited_total', { policy: 'anonymous' })).toBe(refused)
})

test('cover the process, the database, the certificate and the outbox', async () => {
  const text = await (await fetch(url)).text()
  expect(text).toContain(`ncp_build_info{version="0.1.0",bun="${Bun.version}"} 1`)
  for (const [name, least] of [
    ['ncp_ready', 1],
    ['ncp_password_hashes_running', 0],
    ['ncp_password_hashes_waiting', 0],
    ['ncp_database_size_bytes', 4096],
    ['ncp_database_wal_size_bytes', 0],
    ['ncp_database_write_wait_seconds_count', 1],
    ['ncp_event_loop_lag_seconds', 0],
    ['ncp_certificate_expiry_timestamp_seconds', Date.now() / 1000],
    ['ncp_backup_newest_timestamp_seconds', Date.now() / 1000 - 3600],
    ['ncp_outbox_waiting_mails', 0],
    ['process_cpu_seconds_total', 0.01],
    ['process_resident_memory_bytes', 1e7],
    ['process_start_time_seconds', Date.now() / 1000 - 3600],
    ['process_open_fds', 5],
    ['process_max_fds', 10],
  ] as const) {
    const value = await sampleOf(name)
    expect([name, value]).toEqual([name, expect.any(Number)])
    expect(value ?? -1).toBeGreaterThanOrEqual(least)
  }
})

describe('a metrics port in use', () => {
  test('is reported, and the panel does not start', async () => {
    const { exitCode, stderr } = await here.run(['serve', '--port', '0', '--data', 'other'], {
      environment: { NCP_METRICS_PORT: new URL(url).port },
    })
    const message = `ncp: port ${new URL(url).port} for metrics is in use; choose another one with NCP_METRICS_PORT\n`
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(message)])
  })
})

describe('deploy/', () => {
  const read = (name: string) => readFileSync(join(import.meta.dir, '../../../deploy', name), 'utf8')
  const alerts = Bun.YAML.parse(read('prometheus-alerts.yaml')) as {
    groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[]
  }
  const dashboard = JSON.parse(read('grafana-dashboard.json')) as {
    panels: { title: string; targets?: { expr: string }[] }[]
  }
  const rules = alerts.groups.flatMap((group) => group.rules)
  const expressions = [
    ...rules.map(({ alert, expr }) => [`alert ${alert}`, expr]),
    ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [`panel ${title}`, expr])),
  ] as [string, string][]

  test('uses only metrics and labels that the panel has', async () => {
    const samples = await scrape()
    expect(expressions.length).toBeGreaterThan(20)
    for (const [where, expression] of expressions) {
      const names: string[] = expression.match(/\b(ncp|process)_\w+/g) ?? []
      expect([where, names.length > 0 || expression.includes('up{')]).toEqual([where, true])
      for (const name of names) {
        expect([where, name, samples.some((sample) => sample.name === name)]).toEqual([where, name, true])
      }
      // Labels of selectors and groupings.
      const labels = [
        ...[...expression.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label]) => label),
        ...[...expression.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/\s*,\s*/)),
      ].filter((label) => !['job', 'instance'].includes(label ?? ''))
      for (const label of labels) {
        const known = samples.some(({ name, labels }) => names.includes(name) && (label ?? '') in labels)
        expect([where, label, known]).toEqual([where, label, true])
      }
    }
  })

  test('has an alert, with a summary, for each condition an operator must know', () => {
    expect(rules.length).toBeGreaterThan(8)
    for (const { alert, annotations } of rules)
      expect([alert, annotations.summary]).toEqual([alert, expect.any(String)])
  })
})
