/** `ncp cert` of the compiled binary: what the certificate says, and a new one before its time. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { chownSync, statSync } from 'node:fs'
import { type Installation, install } from '../../harness/binary.ts'
import { servedCertificate } from '../../harness/connection.ts'
import { until } from '../../harness/until.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

/** No other user can own files where this is not root. */
const OWNER = process.getuid?.() === 0 ? 12_345 : (process.getuid?.() ?? 0)

let here: Installation
beforeAll(async () => {
  here = await install()
})
afterAll(() => here.remove())

const own = () => new X509Certificate(here.read('data', 'tls', 'cert.pem'))

test('there is none before the first start, and show does not create one', async () => {
  for (const command of ['show', 'renew']) {
    const { exitCode, stderr } = await here.run(['cert', command])
    expect([exitCode, stderr]).toEqual([3, "ncp: --data: there is no certificate in ./data; 'ncp serve' creates one\n"])
  }
})

test('show prints names, validity and fingerprint, for people and for scripts', async () => {
  await (await here.serve()).stop()
  const text = await here.run(['cert', 'show'])
  expect(text.exitCode).toBe(0)
  const facts = JSON.parse((await here.run(['cert', 'show', '--json'])).stdout)
  expect(facts).toMatchObject({ path: 'data/tls/cert.pem', issuer: 'itself', sha256: own().fingerprint256 })
  expect(facts.names).toContain('DNS:localhost')
  expect(facts.expires_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect([395, 396]).toContain(facts.days_left)
  expect(text.stdout).toBe(
    `${Object.entries(facts)
      .map(([name, value]) => `${name}\t${value}`)
      .join('\n')}\n`,
  )
})

test('show also prints a configured certificate, and what is wrong with it', async () => {
  const pair = ['--tls-cert', 'data/tls/cert.pem', '--tls-key', 'data/tls/key.pem']
  expect((await here.run(['cert', 'show', ...pair])).stdout).toContain(own().fingerprint256)
  const { exitCode, stderr } = await here.run(['cert', 'show', ...pair.with(3, 'data/jwt.key')])
  expect([exitCode, stderr]).toEqual([3, 'ncp: --tls-key: data/jwt.key contains no private key in PEM\n'])
})

test('renew creates a certificate that the running panel takes over, and that belongs to the panel’s user', async () => {
  const panel = await here.serve()
  const before = own().fingerprint256
  chownSync(here.inData('tls'), OWNER, OWNER)
  const { exitCode, stdout } = await here.run(['cert', 'renew'])
  expect([exitCode, stdout]).toEqual([0, `certificate data/tls/cert.pem, SHA-256 ${own().fingerprint256}\n`])
  expect(own().fingerprint256).not.toBe(before)
  for (const name of ['cert.pem', 'key.pem']) {
    const { uid, mode } = statSync(here.inData('tls', name))
    expect([uid, mode & 0o777]).toEqual([OWNER, 0o600])
  }
  panel.signal('SIGHUP')
  await until('the new certificate', async () => (await servedCertificate(panel)) === own().fingerprint256)
  expect(await panel.stop()).toBe(0)
})

test('renew refuses to replace a configured certificate', async () => {
  const { exitCode, stderr } = await here.run(['cert', 'renew'], {
    environment: { NCP_TLS_CERT: 'cert.pem', NCP_TLS_KEY: 'key.pem' },
  })
  expect([exitCode, stderr]).toEqual([
    3,
    'ncp: NCP_TLS_CERT: the panel cannot renew cert.pem; renew it where it was issued, and a running panel loads it by itself\n',
  ])
})
