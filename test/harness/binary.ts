/** The compiled program for tests: built when stale, alone in a directory of its own, with a clean environment. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { BINARY, buildWhenStale } from './fresh-binary.ts'
import type { Answer, RequestOptions } from './panel.ts'
import { collect, type Output, outputOf } from './program.ts'
import { DEADLINE_MS, until } from './until.ts'
import { workaroundEnvironment } from './workarounds.ts'

type Environment = Record<string, string>

export type Installation = Awaited<ReturnType<typeof install>>
export type RunningBinary = Awaited<ReturnType<Installation['serve']>>

/** Nothing of the developer's shell, no NCP_*, no proxy, no BUN_OPTIONS, and nothing of a panel on this machine. */
const CLEAN_ENVIRONMENT: Environment = { PATH: '/usr/bin:/bin', NCP_CONFIG: '/dev/null', ...workaroundEnvironment }

let built: Promise<void> | undefined

/** A fresh directory with the binary and nothing else in it. */
export async function install(prefix = 'ncp-binary-') {
  built ??= buildWhenStale()
  await built
  const directory = mkdtempSync(join(tmpdir(), prefix))
  copyFileSync(BINARY, join(directory, 'ncp'))
  const inDirectory = (...names: string[]) => join(directory, ...names)
  const running = new Set<{ kill(signal: 'SIGKILL'): void; exited: Promise<number> }>()

  function spawn(args: string[], environment: Environment, stdin?: string) {
    const child = Bun.spawn(['./ncp', ...args], {
      cwd: directory,
      env: { ...CLEAN_ENVIRONMENT, ...environment },
      stdin: stdin === undefined ? 'ignore' : new Blob([stdin]),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    running.add(child)
    return child
  }

  return {
    directory,
    path: inDirectory,
    inData: (...names: string[]) => inDirectory('data', ...names),
    read: (...names: string[]) => readFileSync(inDirectory(...names), 'utf8'),
    adminPassword: () => readFileSync(inDirectory('data', 'initial-admin-password'), 'utf8').trim(),

    /** Runs a command to its end. */
    async run(args: string[], options: { stdin?: string; environment?: Environment } = {}): Promise<Output> {
      const child = spawn(args, options.environment ?? {}, options.stdin)
      const output = await outputOf(child, `ncp ${args.join(' ')}`)
      running.delete(child)
      return output
    },

    /** Starts `ncp serve` on a free port. @throws Error with what it wrote when it doesn't come up */
    async serve(args: string[] = [], environment: Environment = {}) {
      const child = spawn(['serve', '--port', '0', ...args], environment)
      const stdout = collect(child.stdout)
      const stderr = collect(child.stderr)
      const origin = await until('the line with the origin', () => {
        if (child.exitCode !== null) throw new Error(`serve ended with ${child.exitCode}: ${stderr()}`)
        return /^ncp listens on (\S+),/m.exec(stdout())?.[1]
      })
      const certificate = /^certificate (.+), SHA-256 \S+$/m
      const certificatePath = origin.startsWith('https:')
        ? await until('the line with the certificate', () => certificate.exec(stdout())?.[1])
        : undefined
      // Verified like every client does: the certificate must be right for the name in the origin.
      const tls = certificatePath === undefined ? undefined : { ca: readFileSync(resolve(directory, certificatePath)) }

      async function request(path: string, init: RequestInit = {}): Promise<Response> {
        const late = AbortSignal.timeout(DEADLINE_MS)
        try {
          return await fetch(`${origin}${path}`, { signal: late, ...init, ...(tls && { tls }) })
        } catch (error) {
          throw late.aborted ? new Error(`gave up waiting for ${init.method ?? 'GET'} ${path}: ${stderr()}`) : error
        }
      }

      /** A call of the API. */
      async function send<Data = unknown>(
        method: string,
        path: string,
        { as, body }: Pick<RequestOptions, 'as' | 'body'> = {},
      ): Promise<Answer<Data>> {
        const response = await request(`/api/v1${path}`, {
          method,
          ...(body !== undefined && { body: JSON.stringify(body) }),
          headers: {
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...(as !== undefined && { authorization: `Bearer ${as}` }),
          },
        })
        const envelope = (await response.json()) as { data: Data; error: string | null; message: string }
        return { status: response.status, headers: response.headers, ...envelope }
      }

      return {
        origin,
        pid: child.pid,
        port: Number(new URL(origin).port),
        stdout,
        stderr,
        request,
        send,
        login: (email: string, password: string) =>
          send<{ token: string }>('POST', '/auth/login', { body: { email, password } }),
        signal: (signal: 'SIGTERM' | 'SIGHUP' | 'SIGSTOP' | 'SIGCONT' | 'SIGKILL') => child.kill(signal),
        /** Waits for its end. @returns the exit code */
        async ended(): Promise<number> {
          await until('the end of serve', () => child.exitCode !== null || child.signalCode !== null)
          running.delete(child)
          return child.exited
        },
        /** Asks it to end. @returns the exit code */
        async stop(signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM'): Promise<number> {
          child.kill(signal)
          await until('the end of serve', () => child.exitCode !== null || child.signalCode !== null)
          running.delete(child)
          return child.exited
        },
      }
    },

    /** Ends whatever a failed test left running, and removes the directory. */
    async remove(): Promise<void> {
      for (const child of running) child.kill('SIGKILL')
      await Promise.all([...running].map((child) => child.exited))
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
