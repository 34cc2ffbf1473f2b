/** A certificate from an authority: the compiled panel against Pebble, with proofs on its own port and in a webroot. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:tls'
import { type Authority, pebbleIsInstalled, startAuthority } from '../../harness/authority.ts'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { openConnection, servedCertificate } from '../../harness/connection.ts'
import { until } from '../../harness/until.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const NAMES = ['panel.example.com', 'www.example.com']

describe.skipIf(!pebbleIsInstalled)('with an authority', () => {
  let here: Installation
  let authority: Authority
  let panel: RunningBinary | undefined
  let environment: Record<string, string>
  beforeAll(async () => {
    here = await install('ncp-acme-')
    authority = await startAuthority(here.path('authority'))
    environment = {
      NCP_ACME_DOMAINS: NAMES.join(','),
      NCP_ACME_EMAIL: 'ops@example.com',
      NCP_ACME_DIRECTORY: authority.directoryUrl,
      NCP_ACME_HTTP_PORT: `${authority.proofPort}`,
      NODE_EXTRA_CA_CERTS: authority.certificate,
    }
  })
  afterEach(async () => {
    if (panel) expect(await panel.stop()).toBe(0)
    panel = undefined
    rmSync(here.inData(), { recursive: true, force: true })
  })
  afterAll(async () => {
    await authority.stop()
    await here.remove()
  })

  const issued = () => new X509Certificate(here.read('data', 'tls', 'acme.pem').split('\n').slice(1).join('\n'))

  async function untilIssued(running: RunningBinary): Promise<string> {
    await until('the certificate', () => existsSync(here.inData('tls', 'acme.pem')))
    const { fingerprint256 } = issued()
    await until('the certificate in use', async () => (await servedCertificate(running)) === fingerprint256)
    return fingerprint256
  }

  test('the panel validates its names, and serves a certificate that the authority’s clients trust, without a restart', async () => {
    panel = await here.serve([], environment)
    await untilIssued(panel)
    // As a client does that knows the authority's root and nothing else, for each of the names.
    for (const name of NAMES) {
      const ca = await authority.root()
      const socket = connect({ host: '127.0.0.1', port: panel.port, servername: name, ca })
      await until('the handshake', () => socket.authorized || socket.destroyed)
      expect(socket.authorized).toBe(true)
      socket.destroy()
    }
    expect(panel.stderr()).toContain('certificate changed')
    for (const name of ['acme.pem', 'acme-account.key']) {
      expect(statSync(here.inData('tls', name)).mode & 0o777).toBe(0o600)
    }
    // The port of the proof is closed again.
    await expect(openConnection(authority.proofPort)).rejects.toThrow('ECONNREFUSED')

    const facts = JSON.parse((await here.run(['cert', 'show', '--json'], { environment })).stdout)
    expect(facts).toMatchObject({ path: 'data/tls/acme.pem', names: NAMES.map((name) => `DNS:${name}`).join(', ') })
    expect(facts.issuer).toContain('Pebble')
  })

  test('it is kept across a restart, and ordered again for other names', async () => {
    panel = await here.serve([], environment)
    const first = await untilIssued(panel)
    const account = here.read('data', 'tls', 'acme-account.key')
    await panel.stop()
    panel = await here.serve([], environment)
    expect(await servedCertificate(panel)).toBe(first)
    await panel.stop()

    panel = await here.serve([], { ...environment, NCP_ACME_DOMAINS: 'other.example.com' })
    const running = panel
    await until('another certificate', async () => {
      const { subjectAltName } = issued()
      return (
        subjectAltName === 'DNS:other.example.com' && (await servedCertificate(running)) === issued().fingerprint256
      )
    })
    expect(here.read('data', 'tls', 'acme-account.key')).toBe(account)
  })

  test('cert renew orders another one, even while the panel runs', async () => {
    panel = await here.serve([], environment)
    const first = await untilIssued(panel)
    const { exitCode, stdout, stderr } = await here.run(['cert', 'renew'], { environment })
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).toBe(`certificate data/tls/acme.pem, SHA-256 ${issued().fingerprint256}\n`)
    expect(issued().fingerprint256).not.toBe(first)
    panel.signal('SIGHUP')
    await untilIssued(panel)
  })

  test('a web server on port 80 serves the challenge response from its files, and none is left behind', async () => {
    const webroot = here.path('www')
    mkdirSync(webroot)
    const requested: string[] = []
    const server = Bun.serve({
      port: authority.proofPort,
      hostname: '127.0.0.1',
      fetch(request) {
        const { pathname } = new URL(request.url)
        requested.push(pathname)
        return new Response(readFileSync(`${webroot}${pathname}`))
      },
    })
    panel = await here.serve([], { ...environment, NCP_ACME_WEBROOT: webroot })
    await untilIssued(panel)
    expect(requested.length).toBeGreaterThanOrEqual(NAMES.length)
    expect(readdirSync(`${webroot}/.well-known/acme-challenge`)).toEqual([])
    await server.stop(true)
  })

  test('where sites are served on the port of the proof, the proof is answered there', async () => {
    const sites = { NCP_SITES_PORT: `${authority.proofPort}`, NCP_SITES_TLS_PORT: '0' }
    panel = await here.serve([], { ...environment, ...sites })
    await untilIssued(panel)
    const answer = await fetch(`http://127.0.0.1:${authority.proofPort}/`, { headers: { host: NAMES[0] ?? '' } })
    expect(answer.status).toBe(404)
  })

  test('a failure is logged with its reason, the panel’s own certificate is served, and SIGHUP tries again', async () => {
    const inTheWay = Bun.serve({
      port: authority.proofPort,
      hostname: '::',
      fetch: () => new Response('not the proof'),
    })
    panel = await here.serve([], environment)
    const { stderr } = panel
    await until('the complaint', () => stderr().includes('certificate not issued'))
    expect(stderr()).toContain(`port ${authority.proofPort} for the ACME challenge cannot be opened (EADDRINUSE)`)
    const own = new X509Certificate(here.read('data', 'tls', 'cert.pem'))
    expect(await servedCertificate(panel)).toBe(own.fingerprint256)
    expect((await panel.request('/livez')).status).toBe(200)

    await inTheWay.stop(true)
    panel.signal('SIGHUP')
    await untilIssued(panel)
  })

  test('a failed challenge is reported in the authority’s words', async () => {
    const webroot = here.path('nowhere')
    mkdirSync(webroot, { recursive: true })
    const server = Bun.serve({ port: authority.proofPort, hostname: '::', fetch: () => new Response('not the proof') })
    const options = { environment: { ...environment, NCP_ACME_WEBROOT: webroot } }
    const { exitCode, stderr } = await here.run(['cert', 'renew'], options)
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^ncp: (panel|www)\.example\.com: .+\(unauthorized\)\n$/)
    expect(readdirSync(`${webroot}/.well-known/acme-challenge`)).toEqual([])
    await server.stop(true)
  })

  test('an unreachable authority is reported, and the panel still serves', async () => {
    const away = { ...environment, NCP_ACME_DIRECTORY: 'https://127.0.0.1:1/dir' }
    panel = await here.serve([], away)
    const { stderr } = panel
    await until('the complaint', () => stderr().includes('certificate not issued'))
    expect((await panel.request('/livez')).status).toBe(200)
  })

  test('a damaged file is replaced', async () => {
    panel = await here.serve([], environment)
    const first = await untilIssued(panel)
    await panel.stop()
    const text = here.read('data', 'tls', 'acme.pem')
    writeFileSync(here.inData('tls', 'acme.pem'), text.slice(0, text.length / 2))
    panel = await here.serve([], environment)
    await until('another certificate', () => here.read('data', 'tls', 'acme.pem').includes('END PRIVATE KEY'))
    expect(await untilIssued(panel)).not.toBe(first)
  })
})
