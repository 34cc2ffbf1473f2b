/** What the program's own text must not contain, and what its dependencies must not do. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isEmailAddress } from '../../src/core/email.ts'
import { parseTimestamp } from '../../src/core/timestamp.ts'
import { normalizeDomain } from '../../src/features/hosting/sites/domain.ts'
import { readBearer } from '../../src/http/bearer.ts'

const root = join(import.meta.dir, '../..')
const sources = [...new Bun.Glob('src/**/*.ts').scanSync(root)].sort().map((file) => ({
  file,
  text: readFileSync(join(root, file), 'utf8'),
}))
const filesWith = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file)

/**
 * What speaks to other servers besides the mailer: each of them checks where it goes. The doctor asks the public URL of its
 * own panel; the agent of a node asks its own web server, through a Unix socket, and the panel that its operator has named.
 */
const OUTBOUND = [
  'src/agent/health.ts',
  'src/agent/panel-client.ts',
  'src/agent/prove.ts',
  'src/cli/doctor/public-url.ts',
  // The panel that its user names.
  'src/client/panel.ts',
  'src/http/outbound.ts',
  'src/tls/acme/client.ts',
]
/**
 * Commands of the operator that run another program, systemd's own or another version of this; and the server, which runs
 * itself to unpack an archive: with limits as its arguments, the archive as a descriptor, and an empty environment. The agent
 * of a node starts PHP-FPM and ends processes, as a customer's user: its arguments are numbers and paths of its own. As root
 * it makes users, removes trees and starts the web server, and no text of the panel is in an argument.
 */
const CHILDREN = [
  'src/agent/command.ts',
  'src/agent/php/launch.ts',
  'src/agent/processes.ts',
  'src/agent/setup/program.ts',
  'src/agent/web-server.ts',
  'src/cli/run.ts',
  'src/cli/systemd.ts',
  'src/cli/upgrade.ts',
  'src/unpack/run.ts',
]
const HASHES = ['src/crypto/totp.ts']
/**
 * The API, the metrics, and the proof for a certificate authority for as long as it is asked for. The doctor tries whether a
 * port can be opened, and closes it.
 */
const LISTENERS = [
  'src/cli/doctor/panel.ts',
  'src/http/listen.ts',
  'src/metrics/listener.ts',
  'src/tls/acme/challenge.ts',
]

describe('the program', () => {
  test('runs no code from its input, and no other program than itself for its clients', () => {
    expect(filesWith(/\beval\(|new Function\(|node:vm|import\((?!')/)).toEqual([])
    // Nothing of a request, and no secret, can get into the arguments or the environment of a child that there isn't.
    expect(filesWith(/Bun\.spawn|Bun\.\$|child_process/)).toEqual(CHILDREN)
  })

  test('contacts the mail server, the certificate authority, and through one door what customers name', () => {
    expect(filesWith(/\bfetch\((?!request\))|new WebSocket|node:https?'|Bun\.connect/)).toEqual(OUTBOUND)
    expect(filesWith(/from 'nodemailer'/)).toEqual(['src/mail/mailer.ts'])
  })

  test('contains no hand-written SQL that could hold a value', () => {
    expect(filesWith(/sql\.raw|\.query\(`|\.run\(`|\.exec\(`/)).toEqual([])
  })

  test('uses no broken hash, except the SHA-1 of authenticator apps', () => {
    expect(filesWith(/\bmd5\b|\bsha-?1\b/i).filter((file) => !HASHES.includes(file))).toEqual([])
  })

  test('listens only at the named places', () => {
    expect(filesWith(/Bun\.serve|Bun\.listen|createServer\(/)).toEqual(LISTENERS)
  })
})

/** @see CVE-2023-4316 (zod): a pattern for emails took exponential time. One of ours that did would never end here. */
test.each<[string, (text: string) => unknown]>([
  ['an email', isEmailAddress],
  ['a domain', normalizeDomain],
  ['a timestamp', parseTimestamp],
  ['a credential', readBearer],
])('a text of 60 KB that is nearly %s is refused', (_, read) => {
  for (const text of [
    'a'.repeat(60_000),
    `${'a.'.repeat(30_000)}!`,
    `${'a-'.repeat(30_000)}`,
    `a@${'a.'.repeat(30_000)}!`,
    `2027-01-01T00:00:00.${'0'.repeat(60_000)}`,
  ]) {
    let result: unknown
    try {
      result = read(text)
    } catch {
      result = undefined
    }
    expect(result || undefined).toBeUndefined()
  }
})

describe('the dependencies', () => {
  const lock = readFileSync(join(root, 'bun.lock'), 'utf8')

  test('are exact, come with their checksum, and run no script when installed', () => {
    const { dependencies, devDependencies, trustedDependencies } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    )
    const versions = Object.entries<string>({ ...dependencies, ...devDependencies })
    expect(versions.filter(([, version]) => !/^(?:npm:[a-z-]+@)?\d+\.\d+\.\d+$/.test(version))).toEqual([])
    expect(trustedDependencies).toBeUndefined()
    const packages = lock.split('\n').filter((line) => /^ {4}"[^"]+": \[/.test(line))
    expect(packages.length).toBeGreaterThan(50)
    expect(packages.filter((line) => !line.includes('"sha512-'))).toEqual([])
    // From the registry that npm names itself: an address of another one would stand in the second place.
    expect(packages.filter((line) => /https?:\/\//.test(line.split('", "')[1] ?? ''))).toEqual([])
  })
})
