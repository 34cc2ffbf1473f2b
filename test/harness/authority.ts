/** Pebble, the test authority of ACME's makers, with a DNS that sends every name to this machine. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/core/clock.ts'
import { ownCertificate } from '../../src/tls/certificate.ts'
import { freePort } from './port.ts'
import { until } from './until.ts'

/** From Debian's package pebble. */
export const pebbleIsInstalled = Bun.which('pebble') !== null && Bun.which('pebble-challtestsrv') !== null

export type Authority = Awaited<ReturnType<typeof startAuthority>>

/** @param directory an empty one, for its files */
export async function startAuthority(directory: string) {
  mkdirSync(directory, { recursive: true })
  const { path: certificate } = await ownCertificate(directory, systemClock)
  const [api = 0, management = 0, dns = 0, dnsManagement = 0, proof = 0] = await Promise.all(
    Array.from({ length: 5 }, freePort),
  )
  const config = {
    pebble: {
      listenAddress: `127.0.0.1:${api}`,
      managementListenAddress: `127.0.0.1:${management}`,
      certificate,
      privateKey: join(directory, 'key.pem'),
      httpPort: proof,
      tlsPort: proof,
    },
  }
  writeFileSync(join(directory, 'pebble.json'), JSON.stringify(config))
  const dnsServer = Bun.spawn(
    [
      ['pebble-challtestsrv', '-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${dnsManagement}`],
      ['-defaultIPv4', '127.0.0.1', '-defaultIPv6', '', '-http01', '', '-https01', '', '-tlsalpn01', ''],
    ].flat(),
    { stdout: 'ignore', stderr: 'ignore' },
  )
  const pebble = Bun.spawn(
    ['pebble', '-strict', '-config', join(directory, 'pebble.json'), '-dnsserver', `127.0.0.1:${dns}`],
    {
      // Every fifth request is refused with a new nonce, and every name has to be proved again.
      env: { PATH: '/usr/bin:/bin', PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '20', PEBBLE_AUTHZREUSE: '0' },
      stdout: 'pipe',
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
    directoryUrl: `${url}/dir`,
    /** A client that trusts this can talk to the authority. */
    certificate,
    /** Where the authority asks for the proof, instead of port 80. */
    proofPort: proof,
    /** The root under which it issues. */
    root: async () => (await fetch(`https://127.0.0.1:${management}/roots/0`, { tls })).text(),
    async stop(): Promise<void> {
      pebble.kill()
      dnsServer.kill()
      await Promise.all([pebble.exited, dnsServer.exited])
    },
  }
}
