/** `ncp serve`: the panel itself, from the first line of configuration to the last flush. */
import { mkdirSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import type { Command } from 'commander'
import { createApp } from '../app.ts'
import { ConfigError } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { type Context, createContext } from '../context.ts'
import { systemClock } from '../core/clock.ts'
import { listen } from '../http/listen.ts'
import { ownCertificate, readCertificate } from '../tls/certificate.ts'
import { checkGivenCertificate } from './check-certificate.ts'
import { seedDemo } from './demo.ts'
import { configOf, withSettings } from './flags.ts'
import { openLog } from './open-log.ts'
import { print } from './output.ts'

/** After this long, connections that still have a request in flight are cut. */
const DRAIN_MS = 10_000

export function addServe(program: Command): void {
  withSettings(program.command('serve'), ['data', 'host', 'port', 'tls', 'tlsCert', 'tlsKey'])
    .description('serve the API')
    .option('--demo', 'fill an empty database with a demo customer, listen on loopback only, and print curl lines')
    .action(async (options: { demo?: true }, command: Command) => {
      const config = await configOf(command)
      await serve(options.demo ? { ...config, host: config.host ?? 'localhost' } : config, options.demo === true)
    })
}

async function serve(config: Config, demo: boolean): Promise<void> {
  checkGivenCertificate(config)
  const { log } = openLog(config)
  const context = await createContext({ config, clock: systemClock, log })
  try {
    context.outbox.start()
    const adminPassword = await context.initialAdmin.ensure()
    const credentials = demo ? await seedDemo(context) : undefined
    const tls = await certificateOf(config)
    const server = open(context, tls)

    const origin = `${tls ? 'https' : 'http'}://${reachableName(config.host)}:${server.port}`
    print(`ncp listens on ${origin}, reference at ${origin}/api/docs`)
    if (tls) print(`certificate ${tls.path}, SHA-256 ${tls.fingerprint}`)
    if (adminPassword !== undefined) {
      const path = join(config.data, 'initial-admin-password')
      // On a terminal a person reads it; anywhere else it would end up in a log.
      print(`administrator ${config.adminEmail}, password ${process.stdout.isTTY ? adminPassword : `in ${path}`}`)
    }
    if (credentials) print(credentials.curl(origin, tls?.path))
  } catch (error) {
    await context.close()
    throw error
  }
}

function open(context: Context, tls: { cert: string; key: string } | undefined): Bun.Server<undefined> {
  const { host, port } = context.config
  let server: Bun.Server<undefined> | undefined
  const app = createApp(context, (request) => server?.requestIP(request)?.address)
  try {
    server = listen(app.fetch, { host, port, tls })
  } catch (error) {
    throw listenError(error, host, port)
  }
  context.readiness.set(true)
  stopOnSignal(server, context)
  return server
}

/** What the operator can do about it, where Bun names the system call at best. */
function listenError(error: unknown, host: string | undefined, port: number): unknown {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  if (code === 'EADDRINUSE') return new Error(`port ${port} is in use; give another one with --port`)
  if (code === 'EACCES') return new Error(`port ${port} needs a privilege; give one above 1023 with --port`)
  // For a name that it can't resolve Bun gives any code at all.
  if (host !== undefined && syscall === 'listen') return new ConfigError(['--host: is no address of this machine'])
  return error
}

/** What a client on this machine puts into its address bar. */
function reachableName(host: string | undefined): string {
  if (host === undefined || host === '::' || host === '0.0.0.0') return 'localhost'
  return isIPv6(host) ? `[${host}]` : host
}

async function certificateOf({ tls, tlsCert, tlsKey, data }: Config) {
  if (!tls) return undefined
  if (tlsCert !== undefined && tlsKey !== undefined) return { ...readCertificate(tlsCert, tlsKey), path: tlsCert }
  const directory = join(data, 'tls')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  return ownCertificate(directory, systemClock)
}

/** SIGTERM and SIGINT: no new requests, those in flight finish, what is in memory is written, exit 0. */
function stopOnSignal(server: Bun.Server<undefined>, context: Context): void {
  let stopping = false
  const stop = async () => {
    if (stopping) return
    stopping = true
    context.readiness.set(false)
    const cut = setTimeout(() => server.stop(true), DRAIN_MS)
    await server.stop()
    clearTimeout(cut)
    await context.close()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
