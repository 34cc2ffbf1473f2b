/** The compiled panel as a process of its own, for the measurements of attacks. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const BINARY = resolve(import.meta.dir, '../../dist/ncp')
export const PASSWORD = 'correct horse battery staple'

export type Panel = Awaited<ReturnType<typeof startPanel>>

/** Starts `dist/ncp` over plain HTTP on loopback, which it takes for a proxy that it trusts. */
export async function startPanel(environment: Record<string, string> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'ncp-attack-'))
  const env = {
    PATH: '/usr/bin:/bin',
    NCP_DATA: join(directory, 'data'),
    NCP_TRUSTED_PROXIES: '127.0.0.1',
    ...environment,
  }
  const options = { cwd: directory, env, stderr: Bun.file(join(directory, 'stderr')) } as const
  const child = Bun.spawn([BINARY, 'serve', '--no-tls', '--host', '127.0.0.1', '--port', '0'], {
    ...options,
    stdout: 'pipe',
  })
  const reader = child.stdout.getReader()
  let printed = ''
  let origin: string | undefined
  while (origin === undefined) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`serve ended: ${readFileSync(join(directory, 'stderr'), 'utf8')}`)
    printed += new TextDecoder().decode(value)
    origin = /^ncp listens on (\S+),/m.exec(printed)?.[1]?.replace('localhost', '127.0.0.1')
  }

  async function run(args: string[], stdin = ''): Promise<void> {
    const command = Bun.spawn([BINARY, ...args], { ...options, stdin: new Blob([stdin]), stdout: 'ignore' })
    if ((await command.exited) !== 0) throw new Error(`ncp ${args.join(' ')} failed`)
  }

  const post = (path: string, body: object, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(`${origin}/api/v1${path}`, {
      ...init,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })

  return {
    origin,
    run,
    post,
    createUser: (email: string) => run(['user', 'create', '--email', email, '--password-stdin'], PASSWORD),
    /** @returns a JWT */
    async login(email: string, password = PASSWORD): Promise<string> {
      const answer = (await (await post('/auth/login', { email, password })).json()) as { data: { token: string } }
      return answer.data.token
    },
    adminPassword: () => readFileSync(join(directory, 'data/initial-admin-password'), 'utf8').trim(),
    /** Resident memory, in MiB. */
    memory: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    async stop(): Promise<void> {
      child.kill('SIGTERM')
      await child.exited
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** @param share from 0 to 1 */
export function quantile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
