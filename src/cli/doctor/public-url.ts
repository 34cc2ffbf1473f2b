/** Access from outside: the name in the public URL, the panel behind it, and whether the panel sees its clients' addresses. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { isLoopback } from '../../core/loopback.ts'
import { askPanel, type PanelAddress } from '../../lifecycle/self-check.ts'
import { fingerprintAt, hostOf } from './certificate.ts'
import { type Finding, failed, ok, type Situation, warning } from './finding.ts'
import { answeringPanel } from './panel.ts'

const FETCH_TIMEOUT_MS = 5000
/** Through the public URL, between two of our own: fewer could be another client's. */
const PROBES = 5

export async function checkName({ config: { publicUrl } }: Situation): Promise<Finding[]> {
  const [host] = hostOf(publicUrl)
  if (host === undefined)
    return [ok('public_url is not set, so there is no name to look up', 'emails with links need public_url')]
  if (isIP(host) !== 0) return [ok(`${host} is an IP address`)]
  let addresses: string[]
  try {
    addresses = (await lookup(host, { all: true })).map(({ address }) => address)
  } catch (error) {
    return [
      failed(
        `DNS does not know ${host} (${(error as NodeJS.ErrnoException).code})`,
        'add an A or AAAA record, or correct public_url',
      ),
    ]
  }
  const own = ownAddresses()
  const isHere = addresses.some((address) => own.has(address))
  return [
    ok(
      `${host} is ${addresses.join(', ')}${isHere ? '' : ', not an address of this machine: a proxy, a router or another machine'}`,
    ),
  ]
}

export async function checkProxy(situation: Situation): Promise<Finding[]> {
  const { publicUrl, trustedProxies } = situation.config
  if (publicUrl === undefined) {
    return [
      ok(
        'public_url is not set, so access from outside is not tested',
        'behind a proxy, set trusted_proxies to its address',
      ),
    ]
  }
  const direct = await answeringPanel(situation)
  if (!direct) return [ok('no panel is running, so access from outside is not tested')]
  const failure = await outsideProblem(publicUrl)
  if (failure) return [failure]
  if (!(await hasProxy(publicUrl, direct))) {
    if (trustedProxies.length === 0) return [ok(`${publicUrl} leads straight to this panel`)]
    return [ok(`${publicUrl} leads straight to this panel`, 'trusted_proxies is only for a proxy in front')]
  }
  // Through a proxy on this machine a request of our own comes from here, and says nothing about others.
  if (await isThisMachine(publicUrl)) {
    return [
      ok(
        `${publicUrl} leads to this panel through a proxy on this machine; from here it is not visible whether the proxy passes on client addresses`,
        'log in from elsewhere: GET /api/v1/auth/sessions shows the address that the panel sees',
      ),
    ]
  }
  if (await sharesBucket(publicUrl, direct)) {
    return [
      failed(
        'the panel does not see client addresses: requests through the proxy count as those of this machine, so all clients share one rate limit',
        'set trusted_proxies to the address of the proxy, and have the proxy send X-Forwarded-For',
      ),
    ]
  }
  if (trustedProxies.length > 0)
    return [ok(`${publicUrl} leads to this panel through a proxy, and trusted_proxies is set`)]
  return [
    warning(
      `${publicUrl} leads to this panel through a proxy, but trusted_proxies is empty: all clients may count as one`,
      'set trusted_proxies to the address of the proxy; GET /api/v1/auth/sessions shows the address that the panel sees',
    ),
  ]
}

async function outsideProblem(publicUrl: string): Promise<Finding | undefined> {
  try {
    const { status, headers } = await probe(publicUrl)
    if (headers.has('x-request-id') && headers.has('x-ratelimit-remaining')) return undefined
    return failed(
      `${publicUrl} does not lead to a panel (status ${status}, without a panel's headers)`,
      'check the proxy, or correct public_url',
    )
  } catch (error) {
    return failed(
      `${publicUrl} does not answer: ${(error as Error).message}`,
      'check DNS, firewall, proxy and certificate',
    )
  }
}

/** Whether the name leads to an address of this machine, from which our own requests would then come. */
async function isThisMachine(publicUrl: string): Promise<boolean> {
  const [host = ''] = hostOf(publicUrl)
  const own = ownAddresses()
  return (await lookup(host, { all: true })).some(({ address }) => isLoopback(address) || own.has(address))
}

function ownAddresses(): Set<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((found) => found?.map(({ address }) => address) ?? []))
}

function probe(publicUrl: string): Promise<Response> {
  return fetch(`${publicUrl}/livez`, { redirect: 'manual', signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) })
}

/** Another certificate, plain HTTP behind HTTPS, or another port: a proxy stands in between. */
async function hasProxy(publicUrl: string, direct: PanelAddress): Promise<boolean> {
  const { hostname, protocol, port } = new URL(publicUrl)
  const publicPort = Number(port) || (protocol === 'https:' ? 443 : 80)
  if (!direct.tls || protocol !== 'https:') return direct.tls !== (protocol === 'https:') || publicPort !== direct.port
  const [outside, inside] = await Promise.all([
    fingerprintAt(hostname.replace(/^\[(.*)\]$/, '$1'), publicPort),
    fingerprintAt(direct.host, direct.port),
  ])
  return outside !== inside
}

/**
 * Whether requests through the public URL are counted at the address of this machine. The panel reveals to no client the
 * address it sees, but each response says how many requests that address has left.
 */
async function sharesBucket(publicUrl: string, direct: PanelAddress): Promise<boolean> {
  const before = await remaining(direct)
  for (let count = 0; count < PROBES; count++) await probe(publicUrl)
  const after = await remaining(direct)
  // If a new window began in between, more are left, which proves nothing.
  return before !== undefined && after !== undefined && before - after > PROBES
}

async function remaining(direct: PanelAddress): Promise<number | undefined> {
  const { head } = await askPanel(direct, '/livez')
  const left = /^x-ratelimit-remaining: (\d+)/im.exec(head)?.[1]
  return left === undefined ? undefined : Number(left)
}
