/** The one door for requests whose target a customer chooses: pinned to addresses that were checked, small, and quick to end. */
import { Resolver } from 'node:dns/promises'
import { request } from 'node:http'
import { codeOf } from '../core/error-code.ts'
import { ownAddresses } from '../system/own-addresses.ts'
import { createOutboundFilter } from './outbound-addresses.ts'

export type OutboundOptions = {
  /** Addresses and ranges that the operator permits, whatever they are. */
  allow: readonly string[]
  /** With their ports; by default those of the system. */
  dnsServers?: readonly string[] | undefined
}

export type Target = {
  host: string
  port: number
  /** With its query. */
  path: string
  /** Whether it may be an address of this machine: for what customers point to it on purpose. */
  mayBeHere: boolean
}

/** What an address answered, or why it did not. */
export type Reached = { address: string } & ({ status: number; body: string } | { failure: string })

export type Outbound = ReturnType<typeof createOutbound>

const TIMEOUT_MS = 10_000
const LOOKUP_TIMEOUT_MS = 5000
const MAX_BODY_BYTES = 64 * 1024
/** Of a host with more, only these are asked. */
const MAX_ADDRESSES = 16
const ABSENT = new Set(['ENODATA', 'ENOTFOUND'])

export function createOutbound({ allow, dnsServers }: OutboundOptions) {
  const permits = createOutboundFilter(allow)

  /** Not `lookup`: what the DNS says is what others see, and the hosts file of this machine is not. */
  async function resolve(host: string): Promise<string[]> {
    const resolver = new Resolver({ timeout: LOOKUP_TIMEOUT_MS, tries: 2 })
    if (dnsServers) resolver.setServers(dnsServers)
    const [a, aaaa] = await Promise.all([
      orAbsent(resolver.resolve4(host), host, 'A'),
      orAbsent(resolver.resolve6(host), host, 'AAAA'),
    ])
    return [...a, ...aaaa]
  }

  return {
    permits,

    /** Addresses of this machine that a customer can point a name to. */
    reachableHere: (): string[] => ownAddresses().filter((address) => permits(address)),

    /**
     * Asks every address of a host by GET, side by side. The addresses are looked up once, and nothing is sent unless each
     * is permitted. No redirect is followed, and no proxy of the environment is used.
     *
     * @returns what each answered; none for a host without addresses
     * @throws OutboundError in words for a customer
     */
    async getFromEach({ host, port, path, mayBeHere }: Target): Promise<Reached[]> {
      if (port !== 80 && port !== 443 && port < 1024) throw new OutboundError(`port ${port} is not permitted`)
      const addresses = await resolve(host)
      const own = mayBeHere ? [] : ownAddresses()
      const refused = addresses.find((address) => !permits(address, own))
      if (refused !== undefined) throw new OutboundError(`${host} leads to ${refused}, which is not a public address`)
      return Promise.all(addresses.slice(0, MAX_ADDRESSES).map((address) => get(address, { host, port, path })))
    },
  }
}

/** Nothing was sent. */
export class OutboundError extends Error {}

async function orAbsent(found: Promise<string[]>, host: string, type: string): Promise<string[]> {
  try {
    return await found
  } catch (error) {
    const code = codeOf(error) ?? ''
    if (ABSENT.has(code)) return []
    throw new OutboundError(`the ${type} records of ${host} cannot be looked up (${code})`)
  }
}

function get(address: string, { host, port, path }: Omit<Target, 'mayBeHere'>): Promise<Reached> {
  return new Promise((resolve) => {
    const fail = (error: unknown) => resolve({ address, failure: wordsOf(error) })
    const headers = { host: port === 80 ? host : `${host}:${port}`, 'user-agent': 'ncp', accept: '*/*' }
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const sent = request({ host: address, port, path, headers, agent: false, signal }, (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      const end = () => {
        const body = Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString()
        resolve({ address, status: response.statusCode ?? 0, body })
      }
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes < MAX_BODY_BYTES) return
        end()
        sent.destroy()
      })
      response.on('end', end)
      response.on('error', fail)
    })
    sent.on('error', fail)
    sent.end()
  })
}

function wordsOf(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ECONNREFUSED' || code === 'ConnectionRefused') return 'it refuses the connection'
  if ((error as Error).name === 'AbortError' || (error as Error).name === 'TimeoutError') {
    return `it does not answer within ${TIMEOUT_MS / 1000} seconds`
  }
  return `it cannot be reached (${code ?? (error as Error).message})`
}
