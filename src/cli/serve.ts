/** `ncp serve`: starts the panel, from reading the configuration to serving requests. */
import { isIPv6 } from 'node:net'
import type { Command } from 'commander'
import { createApp } from '../app.ts'
import { labelOf } from '../config/labels.ts'
import { ConfigError } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../core/clock.ts'
import { codeOf } from '../core/error-code.ts'
import { localHost } from '../core/loopback.ts'
import type { SiteListeners } from '../features/hosting/embedded/module.ts'
import type { Fetch } from '../http/gate.ts'
import { endWithoutDisk } from '../lifecycle/lost-disk.ts'
import { startMetrics } from '../lifecycle/metrics.ts'
import { openNodeSocket } from '../lifecycle/node-socket.ts'
import { supervise } from '../lifecycle/supervise.ts'
import { type Stoppable, together } from '../lifecycle/together.ts'
import { warnOfSpace } from '../lifecycle/warn-of-space.ts'
import { openPanel, type Panel } from '../panel.ts'
import { exitAtOnce } from '../system/exit.ts'
import { uses } from '../system/workarounds.ts'
import { certificateOf } from '../tls/certificate.ts'
import { checkGivenCertificate } from '../tls/given.ts'
import { type Listener, openListener } from '../tls/listener.ts'
import type { Certificate } from '../tls/pem.ts'
import { seedDemo } from './demo.ts'
import { exitCode } from './exit.ts'
import { withSettings } from './flags.ts'
import { configAsOwner } from './installation.ts'
import { openLog } from './open-log.ts'
import { print } from './output.ts'

const DEMO_SITES_PORT = 8080

export function addServe(program: Command): void {
  withSettings(program.command('serve'), ['data', 'host', 'port', 'tls', 'tlsCert', 'tlsKey'])
    .description('serve the API')
    .option('--demo', 'fill an empty database with demo data, listen on loopback only, and print curl commands to try')
    .action(async ({ demo = false }: { demo?: boolean }, command: Command) => {
      await serve(async () => {
        const config = await configAsOwner(command)
        return demo ? demoConfig(config) : config
      }, demo)
    })
}

/** @param readConfig called again whenever the operator asks for it with SIGHUP */
async function serve(readConfig: () => Promise<Config>, demo: boolean): Promise<void> {
  const config = await readConfig()
  checkGivenCertificate(config)
  const { log, sink } = openLog(config)
  let listener: Listener | undefined
  let sitesListener: SiteListeners | undefined
  let nodeSocket: Stoppable | undefined
  const lostDisk = Promise.withResolvers<void>()
  const exitWithoutDisk = () => {
    sink.flush()
    exitAtOnce(exitCode.disk)
  }
  const panel = await openPanel({
    config,
    clock: systemClock,
    log,
    panelProcess: { onLostDisk: lostDisk.resolve },
  })
  void lostDisk.promise.then(() =>
    endWithoutDisk({
      listener: together(listener, sitesListener, nodeSocket),
      announce: () => panel.readiness.set(false),
      exit: exitWithoutDisk,
    }),
  )
  try {
    await warnOfSpace(config.data, log)
    await panel.removeLeftArchives()
    panel.outbox.start()
    panel.backups.start()
    const adminPassword = await panel.initialAdmin.ensure()
    const credentials = demo ? await seedDemo(panel) : undefined
    const certificate = await certificateOf(config, systemClock)
    panel.certificate.set(certificate)
    const metrics = startMetrics(panel)
    const opened = open(panel, certificate)
    listener = opened.listener
    nodeSocket = openNodeSocket(opened.fetchForNodes, panel.paths.nodeSocket, log)
    sitesListener = await openSites(panel, demo)
    panel.certificates.start()
    panel.readiness.set(true)
    const origin = `${certificate ? 'https' : 'http'}://${reachableName(config.host)}:${listener.port}`
    await supervise({
      panel,
      listener,
      others: together(sitesListener, nodeSocket),
      certificate,
      origin,
      readConfig,
      log,
      reopenLog: sink.reopen,
      exitWithoutDisk,
    })

    print(`ncp listens on ${origin}, reference at ${origin}/api/docs`)
    if (sitesListener) {
      const { port, tlsPort } = sitesListener
      print(`sites on port ${port}${tlsPort === undefined ? '' : `, over HTTPS on port ${tlsPort}`}`)
    }
    if (metrics) print(`metrics on ${metrics.url}`)
    if (certificate) print(`certificate ${certificate.path}, SHA-256 ${certificate.fingerprint}`)
    if (adminPassword !== undefined) {
      const path = panel.paths.initialAdminPassword
      // On a terminal a person reads it; anywhere else it would end up in a log.
      print(`administrator ${config.adminEmail}, password ${process.stdout.isTTY ? adminPassword : `in ${path}`}`)
    }
    if (credentials) print(credentials.curl({ origin, certificate: certificate?.path, sitesPort: sitesListener?.port }))
  } catch (error) {
    await together(listener, sitesListener, nodeSocket).cut()
    await panel.close()
    throw error
  }
}

function open(panel: Panel, certificate: Certificate | undefined): { listener: Listener; fetchForNodes: Fetch } {
  const { host, port } = panel.config
  let listener: Listener | undefined
  const app = createApp(
    panel,
    (request) => listener?.peerAddress(request),
    (request, seconds) => listener?.setIdleTimeout(request, seconds),
  )
  try {
    listener = openListener(app.fetch, {
      host,
      port,
      tls: certificate,
      handsOver: uses(panel.config, 'port-handover'),
    })
    return { listener, fetchForNodes: app.fetchForNodes }
  } catch (error) {
    throw listenError(error, host, port, labelOf(panel.config, 'host'))
  }
}

/** What a trial needs: reachable from this machine alone, with a port for sites. */
function demoConfig(config: Config): Config {
  const { host = 'localhost', sitesHost = 'localhost', sitesPort = DEMO_SITES_PORT } = config
  return { ...config, host, sitesHost, sitesPort }
}

/** Undefined where no sites are served. */
async function openSites(panel: Panel, demo: boolean): Promise<SiteListeners | undefined> {
  const { sitesHost, sitesPort } = panel.config
  try {
    return await panel.embedded.start()
  } catch (error) {
    // Many a program is tried out on that port.
    if (demo && sitesPort === DEMO_SITES_PORT && isTaken(error)) return panel.embedded.start(0)
    throw listenError(
      error,
      sitesHost,
      sitesPort ?? 0,
      labelOf(panel.config, 'sitesHost'),
      labelOf(panel.config, 'sitesPort'),
    )
  }
}

const isTaken = (error: unknown) => codeOf(error) === 'EADDRINUSE'

/** What the operator can do about it, where Bun names the system call at best. */
function listenError(
  error: unknown,
  host: string | undefined,
  port: number,
  label: string,
  portLabel = '--port',
): unknown {
  const { syscall } = error as { syscall?: unknown }
  if (isTaken(error)) return new Error(`port ${port} is in use; choose another one with ${portLabel}`)
  if (codeOf(error) === 'EACCES')
    return new Error(`port ${port} needs a privilege; choose one above 1023 with ${portLabel}`)
  // For a name that it cannot resolve Bun gives any code at all.
  if (host !== undefined && syscall === 'listen')
    return new ConfigError([`${label}: is not an address of this machine`])
  return error
}

/** What a client on this machine puts into its address bar. */
function reachableName(host: string | undefined): string {
  const name = localHost(host)
  return isIPv6(name) ? `[${name}]` : name
}
