/** Files and directories that other users of the machine can get at: refused at the start, with the command that mends it. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Installation, install } from '../../harness/binary.ts'
import { canMount, smallDisk } from '../../harness/faults.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

let here: Installation
const cleanUp: (() => void)[] = []
beforeEach(async () => {
  here = await install()
})
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) undo()
  await here.remove()
})

const PLAIN = ['--no-tls']
const start = (environment: Record<string, string> = {}) =>
  here.run(['serve', '--port', '0', ...PLAIN], { environment })
const started = async (environment: Record<string, string> = {}) => (await here.serve(PLAIN, environment)).stop()

describe('a key of the panel', () => {
  test.each([
    ['jwt.key', 0o644],
    ['totp.key', 0o604],
    ['jwt.key', 0o660],
  ])('%s with mode %o is refused by a panel and by a command until it is fixed', async (name, mode) => {
    await started()
    chmodSync(here.inData(name), mode)
    const written = mode.toString(8).padStart(4, '0')
    for (const refused of [await start(), await here.run(['user', 'list'])]) {
      expect([refused.exitCode, refused.stdout, refused.stderr]).toEqual([
        1,
        '',
        `ncp: data/${name} is open to other users of this machine (mode ${written}): run 'chmod 600 data/${name}', and replace the secret if someone may have read it\n`,
      ])
    }
    chmodSync(here.inData(name), 0o600)
    expect(await started()).toBe(0)
  })

  test('may be readable by a group, such as one for backups', async () => {
    await started()
    chmodSync(here.inData('jwt.key'), 0o640)
    expect(await started()).toBe(0)
  })
})

test('a data directory that every user can write to is refused; one that every user can read is not', async () => {
  await started()
  chmodSync(here.inData(), 0o777)
  const { exitCode, stderr } = await start()
  expect([exitCode, stderr]).toEqual([
    1,
    "ncp: every user of this machine can write to ./data (mode 0777) and could replace the database: run 'chmod o-w ./data'\n",
  ])
  chmodSync(here.inData(), 0o755)
  expect(await started()).toBe(0)
})

describe('a secret in an operator’s file', () => {
  const MAIL = { NCP_MAIL_FROM: 'panel@example.com', NCP_PUBLIC_URL: 'https://panel.example.com' }
  const secretIn = (directory: string, mode: number) => {
    const path = join(directory, 'smtp-url')
    writeFileSync(path, 'smtp://127.0.0.1:1\n')
    chmodSync(path, mode)
    return { ...MAIL, NCP_SMTP_URL_FILE: path }
  }

  test('that every user can read is refused', async () => {
    const directory = mkdtempSync('/var/tmp/ncp-test-')
    cleanUp.push(() => rmSync(directory, { recursive: true }))
    chmodSync(directory, 0o755)
    const { exitCode, stderr } = await start(secretIn(directory, 0o644))
    expect(exitCode).toBe(3)
    expect(stderr).toContain(
      `${directory}/smtp-url is open to other users of this machine (mode 0644): run 'chmod o-rw`,
    )
    expect(await started(secretIn(directory, 0o640))).toBe(0)
  })

  test('is private in a directory that no other user can enter', async () => {
    expect(await started(secretIn(here.directory, 0o644))).toBe(0)
  })

  test('of systemd may have the mode that systemd gives it', async () => {
    const credentials = here.path('credentials')
    mkdirSync(credentials, { mode: 0o750 })
    writeFileSync(join(credentials, 'smtp_url'), 'smtp://127.0.0.1:1', { mode: 0o440 })
    expect(await started({ ...MAIL, CREDENTIALS_DIRECTORY: credentials })).toBe(0)
  })
})

test('a configured certificate’s key that every user can read is refused', async () => {
  await (await here.serve()).stop()
  const directory = mkdtempSync('/var/tmp/ncp-test-')
  cleanUp.push(() => rmSync(directory, { recursive: true }))
  chmodSync(directory, 0o755)
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(directory, name))
  for (const name of ['cert.pem', 'key.pem']) copyFileSync(here.inData('tls', name), join(directory, name))
  const environment = { NCP_TLS_CERT: `${cert}`, NCP_TLS_KEY: `${key}` }
  chmodSync(`${key}`, 0o644)
  const { exitCode, stderr } = await here.run(['serve', '--port', '0'], { environment })
  expect(exitCode).toBe(3)
  expect(stderr).toContain(`NCP_TLS_KEY: ${key} is open to other users of this machine (mode 0644)`)
  chmodSync(`${key}`, 0o640)
  expect((await here.run(['config', 'validate'], { environment })).exitCode).toBe(0)
})

test.skipIf(!canMount)('low disk space is reported at the start', async () => {
  const disk = smallDisk(here.path('disk'), 8)
  cleanUp.push(disk.unmount)
  const panel = await here.serve([...PLAIN, '--data', 'disk/data'])
  expect(panel.stderr()).toMatch(
    /"level":"warn","msg":"the disk of the data directory is full, [^"]*","directory":"disk\/data"/,
  )
  expect((await panel.request('/readyz')).status).toBe(503)
  await panel.stop()
})
