/** When the certificate of an authority is renewed, and how often after failures. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { loadConfig } from '../../src/config/load.ts'
import { ownCertificate } from '../../src/tls/certificate.ts'
import { startIssuance } from '../../src/tls/issuance.ts'
import { isRenewalDue } from '../../src/tls/issued.ts'
import { createTestClock } from '../harness/clock.ts'
import { newDirectory } from '../harness/directory.ts'
import { createTestLog } from '../harness/log.ts'

const DAY = 86_400

let directory: string
beforeEach(() => {
  directory = newDirectory('ncp-issued-')
})
afterEach(() => rmSync(directory, { recursive: true }))

test('a certificate is renewed in the last third of its life', async () => {
  const clock = createTestClock()
  // 398 days from its first to its last.
  const certificate = await ownCertificate(directory, clock)
  expect(isRenewalDue(certificate, clock)).toBe(false)
  clock.advance(264 * DAY)
  expect(isRenewalDue(certificate, clock)).toBe(false)
  clock.advance(DAY)
  expect(isRenewalDue(certificate, clock)).toBe(true)
  expect(isRenewalDue(undefined, clock)).toBe(true)
})

test('an unreachable authority is retried after 15 minutes, 30, an hour, and when the operator asks', async () => {
  const clock = createTestClock()
  const log = createTestLog()
  const nobody = { NCP_ACME_DOMAINS: 'panel.example.com', NCP_ACME_DIRECTORY: 'https://127.0.0.1:1/dir' }
  const config = { ...loadConfig({}, nobody), data: directory }
  const issuance = startIssuance({ config, clock, log, onIssued: async () => undefined })
  const attempts = () => log.lines.filter(({ msg }) => msg === 'certificate not issued').length

  await issuance.check()
  expect(attempts()).toBe(1)
  let expected = 1
  for (const minutes of [15, 30, 60]) {
    clock.advance(minutes * 60 - 1)
    await issuance.check()
    expect(attempts()).toBe(expected)
    clock.advance(1)
    await issuance.check()
    expect(attempts()).toBe(++expected)
  }
  await issuance.retry()
  expect(attempts()).toBe(++expected)
  issuance.stop()
})
