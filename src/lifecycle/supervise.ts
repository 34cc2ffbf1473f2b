/** Runs a serving panel under its operator: signals, the service manager and the certificate. */
import { readServiceManager } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { localHost } from '../core/loopback.ts'
import { isLostDisk } from '../db/failures.ts'
import type { ProcessLog } from '../log/log.ts'
import type { Panel } from '../panel.ts'
import type { ServiceManager } from '../system/notify-socket.ts'
import { uses } from '../system/workarounds.ts'
import { certificateOf } from '../tls/certificate.ts'
import { startIssuance } from '../tls/issuance.ts'
import { isIssued } from '../tls/issued.ts'
import { createCertificateKeeper } from '../tls/keeper.ts'
import type { Listener } from '../tls/listener.ts'
import type { Certificate } from '../tls/pem.ts'
import { startHeartbeat } from './heartbeat.ts'
import { createReload } from './reload.ts'
import { checkItself } from './self-check.ts'
import { createStop } from './stop.ts'
import { type Stoppable, together } from './together.ts'

export type SuperviseOptions = {
  panel: Panel
  listener: Listener
  /** Where sites are served, and where a node on this machine asks. */
  others: Stoppable
  /** The one that is served; undefined over plain HTTP. */
  certificate: Certificate | undefined
  /** Under which a client on this machine reaches the panel. */
  origin: string
  /** @throws ConfigError */
  readConfig(): Promise<Config>
  log: ProcessLog
  /** The log file was rotated away. @throws Error when it cannot be reopened */
  reopenLog(): void
  /** Ends the process where the disk does not keep what is written. */
  exitWithoutDisk(): void
}

/**
 * Returns once the service manager has been told that the panel serves. From then on it lives until a signal ends it.
 *
 * @throws Error when the panel doesn't answer itself
 */
export async function supervise(options: SuperviseOptions): Promise<void> {
  const { panel, listener, others, certificate, origin, readConfig, log, reopenLog, exitWithoutDisk } = options
  const { config, clock } = panel
  const status = `serving on ${origin}`
  const { notifySocket, watchdogMs } = readServiceManager()
  const notifies = uses(config, 'notify')
  const manager = notifySocket === undefined || !notifies ? undefined : await connect(notifySocket)
  if (notifySocket !== undefined && !notifies) {
    log.warn(
      {},
      'notify is turned off: systemd is not told that the panel serves, and ends it. Its unit needs Type=exec and WatchdogSec=0',
    )
  }

  let files = config
  const keeper =
    certificate &&
    createCertificateKeeper({
      current: certificate,
      load: () => certificateOf(files, clock),
      async change(next) {
        await listener.changeCertificate(next)
        panel.certificate.set(next)
      },
      log,
    })
  const issuance =
    keeper && isIssued(config)
      ? startIssuance({ config, clock, log, publish: publisherOf(panel), onIssued: keeper.recheck })
      : undefined
  const reload = createReload({
    config,
    readConfig,
    log,
    reopenLog,
    async checkCertificate({ tlsCert, tlsKey }) {
      files = { ...config, tlsCert, tlsKey }
      await keeper?.recheck()
      // Not waited for: an authority takes its time.
      issuance?.retry()
    },
  })
  const stop = createStop({
    listener: together(listener, others),
    announce() {
      panel.readiness.set(false)
      panel.commits.stop()
      manager?.stopping()
      keeper?.stop()
      issuance?.stop()
    },
    close: panel.close,
    delayMs: config.drainDelaySeconds * 1000,
    drainMs: config.drainSeconds * 1000,
  })

  async function onStop(): Promise<void> {
    try {
      if (await stop()) process.exit(0)
    } catch (err) {
      log.error({ err }, 'the panel stopped before everything was written')
      if (isLostDisk(err)) return exitWithoutDisk()
      process.exit(1)
    }
  }
  process.on('SIGTERM', onStop)
  process.on('SIGINT', onStop)
  process.on('SIGHUP', async () => {
    if (!panel.readiness.is()) return
    manager?.reloading()
    await reload()
    manager?.ready(status)
  })

  // Not waited for: until it is there, the panel's own certificate serves.
  issuance?.check()
  if (!manager) return
  await checkItself({ host: localHost(config.host), port: listener.port, tls: certificate !== undefined })
  if (watchdogMs !== undefined) startHeartbeat({ watchdogMs, probe: panel.probe, beat: manager.alive, log })
  manager.ready(status)
}

/** Where sites are served on the port at which the authority asks, that port is not free for a moment's use. */
function publisherOf({ config, embedded }: Panel) {
  const { sitesPort, acmeHttpPort, acmeWebroot } = config
  return acmeWebroot === undefined && sitesPort === acmeHttpPort ? embedded.publishOwnChallenge : undefined
}

/** Loaded only where a service manager listens. */
async function connect(address: string): Promise<ServiceManager> {
  const { connectServiceManager } = await import('../system/notify-socket.ts')
  return connectServiceManager(address)
}
