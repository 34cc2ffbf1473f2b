/** What Prometheus scrapes: every value is read at the scrape, and costs nothing in between. */
import { readdirSync, readFileSync } from 'node:fs'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { DURATION_BUCKETS, type Durations } from '../core/durations.ts'
import type { RequestCounters } from './requests.ts'

export type MetricSources = {
  version: string
  /** Milliseconds since the epoch. */
  startedAt: number
  requests: RequestCounters
  /** Refused requests by policy. */
  refusals: ReadonlyMap<string, number>
  passwords: { running: number; waiting: number }
  store: { waits: Durations; sizes(): { database: number; wal: number } }
  countWaitingEmails(): Promise<number>
  /** Of the sites that the panel itself serves. */
  sites: {
    countByState(): Iterable<[state: string, count: number]>
    /** Answers by class: `2xx` to `5xx`. */
    answers: ReadonlyMap<string, number>
    failures(): number
  }
  /** When the newest backup was made, in milliseconds since the epoch. */
  newestBackupAt(): number | undefined
  isReady(): boolean
  /** Milliseconds since the epoch; undefined over plain HTTP. */
  certificateExpiresAt(): number | undefined
  /** Seconds. */
  eventLoopLag(): number
}

type Labels = Record<string, string | number>

export function createRegistry(sources: MetricSources): Registry {
  const registry = new Registry()
  const registers = [registry]

  function gauge(name: string, help: string, read: () => number | undefined | Promise<number>): void {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const value = await read()
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  }

  function counter(name: string, help: string, labelNames: string[], read: () => Iterable<[Labels, number]>): void {
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset()
        for (const [labels, value] of read()) this.inc(labels, value)
      },
    })
  }

  function histogram(
    name: string,
    help: string,
    labelNames: string[],
    read: () => Iterable<[Labels, Durations]>,
  ): void {
    registry.registerMetric(new CollectedHistogram(name, help, labelNames, read))
  }

  new Gauge({
    name: 'ncp_build_info',
    help: 'Always 1, with the version of the panel and of its runtime.',
    labelNames: ['version', 'bun'],
    registers,
  }).set({ version: sources.version, bun: Bun.version }, 1)
  gauge('ncp_ready', 'Whether requests are served; 0 while starting and draining.', () => (sources.isReady() ? 1 : 0))

  counter(
    'ncp_http_requests_total',
    'Requests by route pattern.',
    ['method', 'route', 'status', 'credential'],
    function* () {
      for (const { method, route, outcomes } of sources.requests.read()) {
        for (const { status, credential, count } of outcomes) yield [{ method, route, status, credential }, count]
      }
    },
  )
  histogram(
    'ncp_http_request_duration_seconds',
    'Time until the response was made.',
    ['method', 'route'],
    function* () {
      for (const { method, route, durations } of sources.requests.read()) yield [{ method, route }, durations]
    },
  )
  counter('ncp_rate_limited_total', 'Requests refused by a rate limit.', ['policy'], function* () {
    for (const [policy, count] of sources.refusals) yield [{ policy }, count]
  })

  counter('ncp_site_requests_total', 'Requests to sites by class of the status.', ['class'], function* () {
    for (const [name, count] of sources.sites.answers) yield [{ class: name }, count]
  })
  counter('ncp_site_failures_total', 'Attempts to make a site what it should be that failed.', [], function* () {
    yield [{}, sources.sites.failures()]
  })
  new Gauge({
    name: 'ncp_sites',
    help: 'Sites that are served now, by state.',
    labelNames: ['state'],
    registers,
    collect() {
      this.reset()
      for (const [state, count] of sources.sites.countByState()) this.set({ state }, count)
    },
  })

  gauge('ncp_password_hashes_running', 'Passwords being hashed now.', () => sources.passwords.running)
  gauge('ncp_password_hashes_waiting', 'Passwords waiting to be hashed.', () => sources.passwords.waiting)

  gauge('ncp_database_size_bytes', 'Size of the database file.', () => sources.store.sizes().database)
  gauge('ncp_database_wal_size_bytes', 'Size of the write-ahead log.', () => sources.store.sizes().wal)
  histogram(
    'ncp_database_write_wait_seconds',
    'Time that a write waited for its turn and the database lock.',
    [],
    () => [[{}, sources.store.waits]],
  )

  gauge('ncp_event_loop_lag_seconds', 'Longest delay of the event loop since the last scrape.', sources.eventLoopLag)
  gauge('ncp_certificate_expiry_timestamp_seconds', 'When the served certificate expires.', () =>
    inSeconds(sources.certificateExpiresAt()),
  )
  gauge('ncp_backup_newest_timestamp_seconds', 'When the newest backup was created; missing if there is none.', () =>
    inSeconds(sources.newestBackupAt()),
  )
  gauge('ncp_outbox_waiting_mails', 'Emails waiting to be sent.', sources.countWaitingEmails)

  counter('process_cpu_seconds_total', 'CPU time, user and system, in seconds.', [], function* () {
    const { user, system } = process.cpuUsage()
    yield [{}, (user + system) / 1e6]
  })
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss())
  gauge(
    'process_start_time_seconds',
    'Start time of the process, in seconds since the epoch.',
    () => sources.startedAt / 1000,
  )
  gauge('process_open_fds', 'Open file descriptors.', () => readdirSync('/proc/self/fd').length)
  gauge('process_max_fds', 'Limit of open file descriptors.', mostFileDescriptors)
  return registry
}

/** One whose numbers are kept elsewhere; `Histogram` itself needs every single observation. */
class CollectedHistogram extends Histogram {
  constructor(
    readonly collectedName: string,
    readonly collectedHelp: string,
    labelNames: string[],
    readonly readAll: () => Iterable<[Labels, Durations]>,
  ) {
    super({ name: collectedName, help: collectedHelp, labelNames, buckets: DURATION_BUCKETS, registers: [] })
  }

  /** What the registry asks. */
  async getForPromString() {
    const { collectedName: name, collectedHelp: help } = this
    const values = [...this.readAll()].flatMap(([labels, durations]) => {
      const { upTo, count, sumSeconds } = durations.read()
      const sample = (suffix: string, value: number, more: Labels = {}) => ({
        metricName: `${name}_${suffix}`,
        labels: { ...labels, ...more },
        value,
      })
      return [
        ...DURATION_BUCKETS.map((le, position) => sample('bucket', upTo[position] ?? 0, { le })),
        sample('bucket', count, { le: '+Inf' }),
        sample('sum', sumSeconds),
        sample('count', count),
      ]
    })
    return { name, help, type: 'histogram', values }
  }
}

function inSeconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000
}

function mostFileDescriptors(): number | undefined {
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return limit === undefined ? undefined : Number(limit)
}
