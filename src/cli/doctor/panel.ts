/** The panel itself: whether exactly one runs, answers on its port, and reports good health. */
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { createServer } from 'node:net'
import { version } from '../../../package.json' with { type: 'json' }
import { codeOf } from '../../core/error-code.ts'
import { localHost } from '../../core/loopback.ts'
import { dataPaths } from '../../data-directory.ts'
import { askPanel } from '../../lifecycle/self-check.ts'
import { holdsPanel } from './data-directory.ts'
import { type Finding, failed, ok, type Situation, warning } from './finding.ts'

type Checks = Record<string, { status: string; reason: string | null }>
type Port = { what: string; setting: string; host: string | undefined; port: number }

/** Where the panel answers on this machine; undefined where none does. */
export async function answeringPanel({ config: { host, port, tls } }: Situation) {
  const address = { host: localHost(host), port, tls }
  const answer = port === 0 ? undefined : await askPanel(address, '/livez').catch(() => undefined)
  return answer?.status === 200 && isOurs(answer.head) ? address : undefined
}

/** What no other program sends: the contract's headers. */
export function isOurs(head: string): boolean {
  return /^x-request-id:/im.test(head) && /^x-ratelimit-remaining:/im.test(head)
}

export async function checkPanel(situation: Situation): Promise<Finding[]> {
  const { config } = situation
  const processes = holdsPanel(config.data) ? serversOf(config.data) : []
  if (processes.length > 1) {
    const ids = processes.join(', ')
    return [
      failed(
        `several panels run on ${config.data} (processes ${ids})`,
        'stop all but one: each counts rate limits on its own',
      ),
    ]
  }
  const address = await answeringPanel(situation)
  if (!address) return [await notAnswering(situation, processes[0])]
  const [own, running] = [await healthOf(address), await versionOf(address)]
  if (running !== undefined && running !== version) {
    own.push(warning(`the running panel is version ${running}, but this program is ${version}`, 'restart the panel'))
  }
  return [ok(`it answers on ${address.host} port ${address.port}`), ...own]
}

async function notAnswering({ config }: Situation, process: string | undefined): Promise<Finding> {
  if (process !== undefined) {
    return failed(
      `it runs (process ${process}) but does not answer on port ${config.port}`,
      'look at its log, and check whether it runs with other settings',
    )
  }
  const free = await portProblem({ what: 'the panel', setting: 'port', host: config.host, port: config.port })
  return (
    free ??
    warning(`no panel is running; port ${config.port} is free`, "start it with 'systemctl start ncp' or 'ncp serve'")
  )
}

/** The reasons are those of `/readyz?verbose`; details for operators are only in the log. */
async function healthOf(address: Parameters<typeof askPanel>[0]): Promise<Finding[]> {
  const { status, body } = await askPanel(address, '/readyz?verbose')
  const { data, message } = JSON.parse(body) as { data: { checks: Checks } | null; message: string }
  if (status !== 200) return [failed(message, 'its log says more')]
  return Object.entries(data?.checks ?? {})
    .filter(([, check]) => check.status !== 'ok')
    .map(([name, { reason }]) => warning(`${name} ${reason}`, 'its log says more'))
}

async function versionOf(address: Parameters<typeof askPanel>[0]): Promise<string | undefined> {
  const { body } = await askPanel(address, '/api/docs/openapi.yaml')
  return /^ {2}version: "?([\w.+-]+)"?$/m.exec(body)?.[1]
}

/** The ports beside the panel's own. */
export async function checkPorts(situation: Situation): Promise<Finding[]> {
  const { config } = situation
  const isRunning = (await answeringPanel(situation)) !== undefined
  const { metricsPort, metricsHost, sitesPort, sitesTlsPort, sitesHost } = config
  const { acmeDomains, acmeWebroot, acmeHttpPort } = config
  const ports: Port[] = []
  // A running panel holds its own.
  if (metricsPort && !isRunning) {
    ports.push({ what: 'the metrics', setting: 'metrics_port', host: metricsHost, port: metricsPort })
  }
  if (sitesPort && !isRunning) {
    ports.push({ what: 'sites', setting: 'sites_port', host: sitesHost, port: sitesPort })
  }
  if (sitesTlsPort && !isRunning) {
    ports.push({ what: 'sites over HTTPS', setting: 'sites_tls_port', host: sitesHost, port: sitesTlsPort })
  }
  // On the port of sites, the proof is answered by what serves them.
  if (acmeDomains.length > 0 && acmeWebroot === undefined && acmeHttpPort !== sitesPort) {
    ports.push({ what: 'the ACME challenge', setting: 'acme_http_port', host: undefined, port: acmeHttpPort })
  }
  const problems = (await Promise.all(ports.map(portProblem))).filter((problem) => problem !== undefined)
  return problems.length > 0 ? problems : [ok('all other ports that the panel needs are free')]
}

/** @returns undefined for a port that can be opened */
function portProblem({ what, setting, host, port }: Port): Promise<Finding | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => {
      const code = codeOf(error)
      if (code === 'EADDRINUSE') {
        resolve(
          failed(
            `port ${port} for ${what} is in use by another program`,
            `find it with 'ss -tlnp' and stop it, or change ${setting}`,
          ),
        )
      } else if (code === 'EACCES') {
        const open = `sysctl net.ipv4.ip_unprivileged_port_start=${port}`
        resolve(
          failed(
            `port ${port} for ${what} needs a privilege that the panel does not have`,
            `run '${open}', or change ${setting}`,
          ),
        )
      } else resolve(failed(`port ${port} for ${what} cannot be opened (${code})`, `change ${setting} or the host`))
    })
    server.listen({ port, ...(host !== undefined && { host }), exclusive: true }, () =>
      server.close(() => resolve(undefined)),
    )
  })
}

/** @returns the ids of the processes that serve from a data directory, as far as this user may see them */
function serversOf(data: string): string[] {
  const database = realpathSync(dataPaths(data).database)
  try {
    return readdirSync('/proc').filter((id) => /^\d+$/.test(id) && id !== `${process.pid}` && serves(id, database))
  } catch {
    // A system without /proc.
    return []
  }
}

function serves(id: string, database: string): boolean {
  try {
    if (!readFileSync(`/proc/${id}/cmdline`, 'utf8').split('\0').includes('serve')) return false
    const folder = `/proc/${id}/fd`
    return readdirSync(folder).some((descriptor) => readlinkSync(`${folder}/${descriptor}`) === database)
  } catch {
    // Gone by now, or of another user.
    return false
  }
}
