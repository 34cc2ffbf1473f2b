/** Pebble, the test authority of ACME's makers, with a DNS that sends every name to this machine. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/core/clock.ts'
import { ownCertificate } from '../../src/tls/certificate.ts'
import { freePort } from './port.ts'
import { stopped } from './program.ts'
import { until } from './until.ts'

/** From Debian's package pebble. */
export const pebbleIsInstalled = Bun.which('pebble') !== null && Bun.which('pebble-challtestsrv') !== null

export type Authority = Awaited<ReturnType<typeof startAuthority>>

/** A DNS that sends every name to 127.0.0.1 unless told otherwise. */
export async function startDns() {
  const [port = 0, management = 0] = await Promise.all([freePort(), freePort()])
  const server = Bun.spawn(
    [
      ['pebble-challtestsrv', '-dns01', `127.0.0.1:${port}`, '-management', `127.0.0.1:${management}`],
      ['-defaultIPv4', '127.0.0.1', '-defaultIPv6', '', '-http01', '', '-https01', '', '-tlsalpn01', ''],
    ].flat(),
    { stdout: 'ignore', stderr: 'ignore' },
  )

  async function tell(command: string, body: object): Promise<void> {
    const { ok } = await fetch(`http://127.0.0.1:${management}/${command}`, {
      method: 'POST',
      body: JSON.stringify(body),
    })
    if (!ok) throw new Error(`${command} was refused`)
  }
  await until('the DNS', () =>
    tell('clear-a', { host: 'nobody.' }).then(
      () => true,
      () => false,
    ),
  )

  return {
    /** With its port. */
    address: `127.0.0.1:${port}`,

    /** Gives a name these addresses, and no others; without an IPv4 address of its own it keeps the usual one. */
    async setAddresses(name: string, { a = [], aaaa = [] }: { a?: string[]; aaaa?: string[] }): Promise<void> {
      for (const [kind, addresses] of Object.entries({ a, aaaa })) {
        await tell(`clear-${kind}`, { host: `${name}.` })
        if (addresses.length > 0) await tell(`add-${kind}`, { host: `${name}.`, addresses })
      }
    },

    /** For the names that were given no IPv4 address of their own. @param ip empty for none */
    setUsualAddress: (ip: string) => tell('set-default-ipv4', { ip }),

    /** Lets every question about a name fail. */
    fail: (name: string) => tell('set-servfail', { host: `${name}.` }),

    async stop(): Promise<void> {
      await stopped(server, 'the DNS')
    },
  }
}

export type AuthorityOptions = {
  /** Where it asks for the proof; by default a free one, where nothing listens yet. */
  proofPort?: number
  /** Of what it issues. */
  validityDays?: number
  /** Names that it refuses, and those below them. Of two labels at most: it would compare no shorter name with them. */
  refusedNames?: string[]
}

/** @param directory an empty one, for its files */
export async function startAuthority(directory: string, options: AuthorityOptions = {}) {
  mkdirSync(directory, { recursive: true })
  const { path: certificate } = await ownCertificate(directory, systemClock)
  const [api = 0, management = 0, freeProof = 0] = await Promise.all(Array.from({ length: 3 }, freePort))
  const dns = await startDns()
  const proof = options.proofPort ?? freeProof
  const config = {
    pebble: {
      listenAddress: `127.0.0.1:${api}`,
      managementListenAddress: `127.0.0.1:${management}`,
      certificate,
      privateKey: join(directory, 'key.pem'),
      httpPort: proof,
      tlsPort: proof,
      domainBlocklist: options.refusedNames ?? [],
      ...(options.validityDays && { certificateValidityPeriod: options.validityDays * 86_400 }),
    },
  }
  writeFileSync(join(directory, 'pebble.json'), JSON.stringify(config))
  const pebble = Bun.spawn(
    ['pebble', '-strict', '-config', join(directory, 'pebble.json'), '-dnsserver', dns.address],
    {
      // Every fifth request is refused with a new nonce, and every name has to be proved again.
      env: { PATH: '/usr/bin:/bin', PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '20', PEBBLE_AUTHZREUSE: '0' },
      stdout: 'ignore',
      stderr: 'ignore',
    },
  )
  const url = `https://127.0.0.1:${api}`
  const tls = { ca: await Bun.file(certificate).text() }
  await until('the authority', () =>
    fetch(`${url}/dir`, { tls }).then(
      ({ ok }) => ok,
      () => false,
    ),
  )

  return {
    /** Of its own view of the DNS. */
    setAddresses: dns.setAddresses,
    setUsualAddress: dns.setUsualAddress,
    directoryUrl: `${url}/dir`,
    /** A client that trusts this can talk to the authority. */
    certificate,
    /** Where the authority asks for the proof, instead of port 80. */
    proofPort: proof,
    /** The root under which it issues. */
    root: async () => (await fetch(`https://127.0.0.1:${management}/roots/0`, { tls })).text(),
    async stop(): Promise<void> {
      await Promise.all([stopped(pebble, 'the authority'), dns.stop()])
    },
  }
}
