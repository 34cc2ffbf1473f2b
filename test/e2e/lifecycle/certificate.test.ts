/** Another certificate for a compiled panel that serves: under load, renewed, and a bad one. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { systemClock } from '../../../src/core/clock.ts'
import { ownCertificate } from '../../../src/tls/certificate.ts'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { openConnection, servedCertificate } from '../../harness/connection.ts'
import { until } from '../../harness/until.ts'
import { allWorkarounds } from '../../harness/workarounds.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const DAY_MS = 86_400_000
const NO_LIMIT = { NCP_LIMIT_PROBE: '1000000' }

let here: Installation
let panel: RunningBinary | undefined
beforeAll(async () => {
  here = await install()
  mkdirSync(here.path('given'))
})
afterEach(async () => {
  if (panel) expect(await panel.stop()).toBe(0)
  panel = undefined
})
afterAll(() => here.remove())

/** Puts a new pair where the panel reads the given one. @returns its fingerprint */
async function issue(name: string): Promise<string> {
  mkdirSync(here.path(name))
  const { fingerprint } = await ownCertificate(here.path(name), systemClock)
  for (const file of ['cert.pem', 'key.pem']) copyFileSync(here.path(name, file), here.path('given', file))
  return fingerprint
}

const serveGiven = (environment = {}) =>
  here.serve(['--tls-cert', 'given/cert.pem', '--tls-key', 'given/key.pem'], environment)

/** Sends requests one after the other until told to end, and loses none unnoticed. */
function load(port: number, { keepAlive }: { keepAlive: boolean }) {
  const seen = new Map<string, number>()
  let isEnding = false
  async function run(): Promise<void> {
    while (!isEnding) {
      const connection = await openConnection(port, { tls: true })
      const fingerprint = connection.fingerprint()
      for (let isOpen = true; isOpen && !isEnding; ) {
        const { status, head } = await connection.get('/livez', keepAlive ? '' : 'Connection: close\r\n')
        if (status !== 200) throw new Error(`answered ${status}`)
        seen.set(fingerprint, (seen.get(fingerprint) ?? 0) + 1)
        isOpen = keepAlive && !/^connection: close$/im.test(head)
      }
      connection.close()
    }
  }
  const running = run()
  return {
    seen,
    end() {
      isEnding = true
      return running
    },
  }
}

test('is loaded on SIGHUP, again and again, without one failed request', async () => {
  const first = await issue('first')
  panel = await serveGiven({ ...NO_LIMIT, ...allWorkarounds })
  const { port } = panel
  const clients = [true, true, true, false, false, false].map((keepAlive) => load(port, { keepAlive }))
  const everyoneSaw = (fingerprint: string) => clients.every(({ seen }) => (seen.get(fingerprint) ?? 0) > 5)
  await until('requests with the first certificate', () => everyoneSaw(first))

  for (const name of ['second', 'third', 'fourth']) {
    const fingerprint = await issue(name)
    panel.signal('SIGHUP')
    // Connections that were kept open move over too.
    await until(`requests with the ${name} certificate`, () => everyoneSaw(fingerprint))
  }
  await Promise.all(clients.map(({ end }) => end()))
  // No client was given a certificate that had already been replaced.
  for (const { seen } of clients) expect(seen.size).toBe(4)
})

test('is loaded by reopening the port when the hand-over is turned off, and an invalid one changes nothing', async () => {
  await issue('closed')
  panel = await serveGiven({ NCP_DISABLE_WORKAROUNDS: 'port-handover' })
  const { port, stderr } = panel
  for (const name of ['opened', 'opened-again']) {
    const kept = await openConnection(port, { tls: true })
    await kept.get('/livez')
    const fingerprint = await issue(name)
    panel.signal('SIGHUP')
    await until('the line in the log', () => stderr().includes(`"fingerprint":"${fingerprint}"`))
    expect(await servedCertificate(panel)).toBe(fingerprint)
    kept.close()
  }
  const good = await servedCertificate(panel)
  writeFileSync(here.path('given', 'cert.pem'), 'half a file')
  panel.signal('SIGHUP')
  await until('the complaint', () => stderr().includes('certificate not changed; the current one stays in use'))
  expect(await servedCertificate(panel)).toBe(good)
})

test('never lets a second panel share the port', async () => {
  await issue('alone')
  panel = await serveGiven()
  const next = await issue('alone-too')
  panel.signal('SIGHUP')
  await until('the next certificate', async () => panel && (await servedCertificate(panel)) === next)
  const second = await here.run(['serve', '--port', `${panel.port}`, '--data', 'other'])
  expect(second.stderr).toEndWith(`ncp: port ${panel.port} is in use; choose another one with --port\n`)
  expect(second.exitCode).toBe(1)
})

test('that is invalid changes nothing, and the log says why', async () => {
  const good = await issue('good')
  panel = await serveGiven()
  const { stderr } = panel
  writeFileSync(here.path('given', 'cert.pem'), 'half a file')
  panel.signal('SIGHUP')
  await until('the complaint', () => stderr().includes('--tls-cert: given/cert.pem contains no certificate in PEM'))
  expect(stderr()).toContain('certificate not changed; the current one stays in use')
  expect(await servedCertificate(panel)).toBe(good)

  await ownCertificate(here.path('good'), systemClock, { renew: true })
  copyFileSync(here.path('good', 'cert.pem'), here.path('given', 'cert.pem'))
  panel.signal('SIGHUP')
  await until('the complaint', () => stderr().includes('--tls-key: given/key.pem is not the key of the certificate'))
  expect(await servedCertificate(panel)).toBe(good)

  copyFileSync(here.path('good', 'key.pem'), here.path('given', 'key.pem'))
  panel.signal('SIGHUP')
  await until('the line in the log', () => stderr().includes('certificate changed'))
  expect(await servedCertificate(panel)).not.toBe(good)
})

test('of the panel’s own is renewed before it expires, while the panel serves', async () => {
  panel = await here.serve()
  const before = await servedCertificate(panel)
  // One that was made 380 days ago, and has 17 to go.
  await ownCertificate(
    here.inData('tls'),
    { ...systemClock, now: () => systemClock.now() - 380 * DAY_MS },
    { renew: true },
  )
  panel.signal('SIGHUP')
  const after = await until('another certificate', async () => {
    const served = panel && (await servedCertificate(panel))
    return served !== before && served
  })
  const { fingerprint, expiresAt } = await ownCertificate(here.inData('tls'), systemClock)
  expect(after).toBe(fingerprint)
  expect(expiresAt).toBeGreaterThan(systemClock.now() + 390 * DAY_MS)
})

test('and key of two different renewals, left by a crash between the files, are recreated at the start', async () => {
  const { fingerprint } = await ownCertificate(here.inData('tls'), systemClock)
  mkdirSync(here.path('torn'))
  await ownCertificate(here.path('torn'), systemClock)
  copyFileSync(here.path('torn', 'key.pem'), here.inData('tls', 'key.pem'))
  panel = await here.serve()
  expect(await servedCertificate(panel)).not.toBe(fingerprint)
  expect((await panel.request('/livez')).status).toBe(200)
})
