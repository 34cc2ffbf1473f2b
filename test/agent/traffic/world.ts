/** A node's access log on disk, the logs of its sites, and what splits the one into the others. */
import { expect } from 'bun:test'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTraffic } from '../../../src/agent/traffic/traffic.ts'
import { createNameHistory } from '../../../src/agent/web/name-history.ts'
import type { HourUsage, NodeReport, UsageBatch } from '../../../src/node/protocol.ts'
import { createTestClock } from '../../harness/clock.ts'
import { newDirectory } from '../../harness/directory.ts'
import { noLog } from '../../harness/log.ts'

export const NOON = Date.UTC(2026, 11, 3, 12)
export const HOUR_MS = 60 * 60 * 1000

export type Fields = Partial<
  Record<'h' | 'r' | 'm' | 'u' | 'S' | 'f' | 'a', string> & Record<'t' | 's' | 'b' | 'd', number>
>

/** As the web server writes it. */
export const lineOf = (fields: Fields = {}): string =>
  `${JSON.stringify({ h: 'a.test', t: NOON / 1000, r: '203.0.113.9', m: 'GET', u: '/', p: 'HTTP/1.1', s: 200, b: 100, i: 70, d: 0, S: 'http', f: '', a: 'agent', ...fields })}\n`

export function createWorld() {
  const directory = newDirectory('ncp-traffic-')
  const layout = { webLogs: join(directory, 'web') }
  const logs = join(directory, 'sites')
  mkdirSync(layout.webLogs)
  const path = join(layout.webLogs, 'access.log')
  const clock = createTestClock(NOON)
  const gone = new Set<number>()
  const history = createNameHistory({ startedAt: 0, blurMs: 2000 })
  history.led('a.test', 7, NOON - HOUR_MS, NOON - HOUR_MS)
  history.led('b.test', 8, NOON - HOUR_MS, NOON - HOUR_MS)
  const batches: UsageBatch[] = []
  const state = { isPanelAway: false, isWebServerRunning: true, reopened: 0 }

  async function report(sent: NodeReport): Promise<void> {
    if (sent.usage) batches.push(structuredClone(sent.usage))
    if (state.isPanelAway) throw new Error('the panel is away')
  }

  /** A new process. */
  const start = () =>
    createTraffic({
      layout,
      placeOf: (siteId) => (gone.has(siteId) ? undefined : { directory: join(logs, `${siteId}`) }),
      history,
      link: { report },
      reopen() {
        if (state.isWebServerRunning) state.reopened++
        if (state.isWebServerRunning) appendFileSync(path, '')
        return state.isWebServerRunning
      },
      clock,
      log: noLog,
    })

  /** Of a site: its lines, as they are in its files. */
  function linesOf(siteId: number): { uri: string; client: string }[] {
    const of = join(logs, `${siteId}`)
    if (!existsSync(of)) return []
    const text = readdirSync(of)
      .toSorted()
      .map((name) => readFileSync(join(of, name), 'utf8'))
      .join('')
    expect(text === '' || text.endsWith('\n')).toBe(true)
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  }

  return {
    layout,
    logs,
    path,
    clock,
    history,
    gone,
    batches,
    state,
    start,
    linesOf,
    urisOf: (siteId: number) => linesOf(siteId).map(({ uri }) => uri),
    write: (...lines: (string | Buffer)[]) => {
      for (const line of lines) appendFileSync(path, line)
    },
    /** As the panel adds it up: each batch once. */
    counted(): Map<number, number> {
      const hours: HourUsage[] = [...new Map(batches.map((batch) => [batch.id, batch])).values()].flatMap(
        (batch) => batch.hours,
      )
      const sums = new Map<number, number>()
      for (const { siteId, requests } of hours) sums.set(siteId, (sums.get(siteId) ?? 0) + requests)
      return sums
    },
  }
}
