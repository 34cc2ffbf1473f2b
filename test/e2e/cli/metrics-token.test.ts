/** The token of the metrics, on the compiled binary: which requests may read them, and that the token stays a secret. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { outputOf } from '../../harness/program.ts'
import { sendRaw } from '../../harness/raw.ts'
import { until } from '../../harness/until.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const TOKEN = 'q7~Kx+2/'.repeat(5)

let here: Installation
let panel: RunningBinary
let url: string
beforeAll(async () => {
  here = await install()
  writeFileSync(here.path('token'), `${TOKEN}\n`, { mode: 0o600 })
  panel = await here.serve([], {
    NCP_METRICS_PORT: '0',
    NCP_METRICS_HOST: '0.0.0.0',
    NCP_METRICS_TOKEN_FILE: here.path('token'),
  })
  const shown = await until('the line with the address', () => /^metrics on (\S+)$/m.exec(panel.stdout())?.[1])
  url = `http://127.0.0.1:${new URL(shown).port}/metrics`
})
afterAll(() => here.remove())

const scrape = (headers: Record<string, string> = {}, suffix = '', init: RequestInit = {}) =>
  fetch(`${url}${suffix}`, { ...init, headers })
const right = { authorization: `Bearer ${TOKEN}` }

/** From an address of its own each, so that no limit decides. */
let host = 1
async function statusFromElsewhere(...lines: string[]): Promise<string> {
  const from = `127.0.1.${++host}`
  const child = Bun.spawn(['curl', '-s', '--interface', from, '-o', '/dev/null', '-w', '%{http_code}', ...lines, url], {
    stdout: 'pipe',
  })
  return (await outputOf(child, 'curl')).stdout
}

test('is sent by Prometheus in a scrape, which then gets the metrics, even beyond loopback', async () => {
  const response = await scrape(right)
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('version=0.0.4'),
  ])
  expect(await response.text()).toContain('ncp_ready 1')
  // RFC 9110 §11.1: the scheme is case-insensitive.
  expect((await scrape({ authorization: `bearer ${TOKEN}` })).status).toBe(200)
})

describe('without the token', () => {
  test.each<[string, string[]]>([
    ['nothing', []],
    ['an empty header', ['-H', 'Authorization;']],
    ['another token', ['-H', `Authorization: Bearer ${'x'.repeat(40)}`]],
    ['half of it', ['-H', `Authorization: Bearer ${TOKEN.slice(0, 20)}`]],
    ['more than it', ['-H', `Authorization: Bearer ${TOKEN}x`]],
    ['the token of another scheme', ['-u', `ncp:${TOKEN}`]],
    ['the token alone', ['-H', `Authorization: ${TOKEN}`]],
    ['the scheme and the token as one word', ['-H', `Authorization: BearerX${TOKEN}`]],
    ['a scheme that begins alike', ['-H', `Authorization: Bearers ${TOKEN}`]],
    ['the token twice', ['-H', `Authorization: Bearer ${TOKEN}`, '-H', `Authorization: Bearer ${TOKEN}`]],
    ['the token after another', ['-H', `Authorization: Bearer x, Bearer ${TOKEN}`]],
    ['the token in the query', ['-G', '--data-urlencode', `access_token=${TOKEN}`]],
    ['the token in a form', ['--data-urlencode', `access_token=${TOKEN}`]],
    ['the token in a body', ['-H', 'Content-Type: application/json', '-d', JSON.stringify({ access_token: TOKEN })]],
    ['the token in a cookie', ['-b', `access_token=${TOKEN}`]],
  ])('%s is 401', async (_, lines) => {
    expect(await statusFromElsewhere(...lines)).toBe('401')
  })

  test('the challenge says what to send, and reveals nothing about the panel', async () => {
    for (const [headers, challenge] of [
      [{}, 'Bearer realm="ncp metrics"'],
      [{ authorization: 'Bearer wrong' }, 'Bearer realm="ncp metrics", error="invalid_token"'],
    ] as const) {
      for (const suffix of ['', '/..', `?access_token=${TOKEN}`]) {
        const response = await scrape(headers, suffix)
        expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, challenge])
        expect(await response.text()).toBe('Send the token of the metrics as Authorization: Bearer\n')
      }
    }
  })

  test('a query string does no harm beside the right header, and a malformed request is 401 too', async () => {
    expect((await scrape(right, '?access_token=x')).status).toBe(200)
    expect(await sendRaw(url, 'GET //[ HTTP/1.0\r\n\r\n')).toStartWith('HTTP/1.1 401 ')
    expect((await fetch(new URL('/', url), { headers: right })).status).toBe(404)
  })

  test('is 429 after ten attempts in a minute from one address, counted in the metrics; the right token still gets through', async () => {
    const statuses: number[] = []
    for (let count = 0; count < 12; count++) statuses.push((await scrape({ authorization: 'Bearer wrong' })).status)
    expect(statuses.at(-1)).toBe(429)
    const refused = await scrape()
    expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, expect.any(Number)])
    expect(await (await scrape(right)).text()).toMatch(/ncp_rate_limited_total\{policy="metrics"\} [1-9]/)
  })
})

test('is shown nowhere: not in the configuration, a log, the metrics or an error', async () => {
  const environment = { NCP_METRICS_TOKEN_FILE: here.path('token') }
  const shown = await here.run(['config', 'show', '--json'], { environment })
  expect(JSON.parse(shown.stdout).metrics_token).toEqual({ hidden: true, origin: 'NCP_METRICS_TOKEN_FILE' })
  const text = await (await scrape(right)).text()
  for (const output of [shown.stdout, shown.stderr, panel.stdout(), panel.stderr(), text]) {
    expect(output).not.toContain(TOKEN)
  }
})

test('is required beyond this machine: without it the panel refuses to start, and says why', async () => {
  const { exitCode, stderr } = await here.run(['serve', '--port', '0', '--data', 'other'], {
    environment: { NCP_METRICS_PORT: '0', NCP_METRICS_HOST: '0.0.0.0' },
  })
  expect([exitCode, stderr]).toEqual([
    3,
    'ncp: NCP_METRICS_HOST: other machines can reach this address, so the metrics need a token: set NCP_METRICS_TOKEN_FILE, or use 127.0.0.1\n',
  ])
})
