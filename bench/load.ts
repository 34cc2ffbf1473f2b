/** Load by wrk, and what one request of it cost the server. */
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onClientCore, type Server } from './process.ts'

export type Request = { path: string; headers: Record<string, string> }

export type Run = {
  /** CPU time of the server, in microseconds a request. */
  cpuMicroseconds: number
  requestsPerSecond: number
  p50Milliseconds: number
  p99Milliseconds: number
  requests: number
  /** Answers outside 2xx and 3xx. */
  refused: number
  /** Connections and requests that failed. */
  failed: number
}

export type LoadOptions = {
  seconds: number
  connections?: number
  /** Credentials that take turns, request by request, instead of the one in the headers. */
  credentials?: string[]
  /** Bodies in JSON that take turns, posted. */
  bodies?: string[]
  /** Milliseconds a connection waits before its next request, at random up to twice as long. */
  pauseMilliseconds?: number
}

export async function load(server: Server, { path, headers }: Request, options: LoadOptions): Promise<Run> {
  const { seconds, connections = 64 } = options
  const script = options.credentials || options.bodies || options.pauseMilliseconds ? writeScript(options) : undefined
  const before = server.cpuMicroseconds()
  const output = await run(
    onClientCore([
      'wrk',
      '-t1',
      `-c${connections}`,
      `-d${seconds}s`,
      '--timeout=5s',
      '--latency',
      ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
      ...(script === undefined ? [] : ['-s', script]),
      `${server.origin}${path}`,
    ]),
  )
  const used = server.cpuMicroseconds() - before
  if (script !== undefined) rmSync(script)

  const number = (pattern: RegExp) => Number(pattern.exec(output)?.[1] ?? 0)
  const requests = number(/(\d+) requests in/)
  const errors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(output)?.slice(1) ?? []
  return {
    cpuMicroseconds: used / requests,
    requestsPerSecond: number(/Requests\/sec:\s+([\d.]+)/),
    p50Milliseconds: milliseconds(output, '50%'),
    p99Milliseconds: milliseconds(output, '99%'),
    requests,
    refused: number(/Non-2xx or 3xx responses: (\d+)/),
    failed: errors.reduce((sum, count) => sum + Number(count), 0),
  }
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

function milliseconds(output: string, percentile: string): number {
  const [, number, unit = ''] = new RegExp(`\\s${percentile}\\s+([\\d.]+)(us|ms|s)`).exec(output) ?? []
  return Number(number) * ({ us: 0.001, ms: 1, s: 1000 }[unit] ?? Number.NaN)
}

function writeScript({ credentials, bodies, pauseMilliseconds }: LoadOptions): string {
  const path = join(tmpdir(), `ncp-bench-${process.pid}-${performance.now()}.lua`)
  const lines = []
  const values = credentials?.map((credential) => `Bearer ${credential}`) ?? bodies
  if (values) {
    lines.push(
      `local values = {${values.map((value) => JSON.stringify(value)).join(',')}}`,
      'local requests = {}',
      'local turn = 0',
      'function init(args)',
      ...(bodies ? ['  wrk.method = "POST"', '  wrk.headers["Content-Type"] = "application/json"'] : []),
      '  for i, value in ipairs(values) do',
      bodies ? '    wrk.body = value' : '    wrk.headers["Authorization"] = value',
      '    requests[i] = wrk.format()',
      '  end',
      'end',
      'function request()',
      '  turn = turn % #requests + 1',
      '  return requests[turn]',
      'end',
    )
  }
  if (pauseMilliseconds) lines.push(`function delay() return math.random(0, ${2 * pauseMilliseconds}) end`)
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

async function run(command: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stderr}${stdout}`)
  return stdout
}
