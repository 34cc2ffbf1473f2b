/** A bare `Bun.serve` that gives every request the same bytes, after the runtime work that a panel cannot do without. */
import { openSync, writeSync } from 'node:fs'
import type { Need } from './floor.ts'

const [port, needs = '', log = ''] = process.argv.slice(2)
const has = (need: Need) => needs.split(',').includes(need)
const body = JSON.stringify({ data: 'x'.repeat(550), error: null, message: '' })
/** As many headers as the panel sends, which the ceiling sends too. */
const fixed = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`x-fixed-${i}`, 'a value of some length']))
const template = new Headers(fixed)
const file = openSync(log, 'w')
let lines = ''
/** Keeps what was read from being found useless and left out. */
let read: unknown

const server = Bun.serve({
  port: Number(port),
  hostname: '127.0.0.1',
  development: false,
  fetch(request) {
    if (has('header')) read = request.headers.get('authorization')
    if (has('address')) read = server.requestIP(request)?.address
    if (has('url')) read = request.url.indexOf('?')
    if (has('log')) writeLine()
    if (!has('headers')) return new Response(body, { headers: fixed })
    const headers = new Headers(template)
    headers.set('x-request-id', Bun.randomUUIDv7())
    for (const name of ['x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit']) headers.set(name, `${read}`)
    return new Response(body, { headers })
  },
})

function writeLine(): void {
  lines += `{"time":"2030-01-01T00:00:00.000Z","requestId":"${Bun.randomUUIDv7()}","durationMs":${performance.now()},"client":"${read}"}\n`
  if (lines.length < 32_768) return
  writeSync(file, lines)
  lines = ''
}
