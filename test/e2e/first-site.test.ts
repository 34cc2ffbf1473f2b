/** The page "Your first site": its lines, pasted into a shell one after the other, and its figures. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { LIMITS } from '../../src/features/hosting/deployments/limits.ts'
import { LIMITS as OF_SUBSCRIPTIONS } from '../../src/node/limits.ts'
import { type Installation, install, type RunningBinary } from '../harness/binary.ts'
import { requireUploadRoom } from '../harness/directory.ts'
import { PASSWORD } from '../harness/panel.ts'
import { outputOf } from '../harness/program.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const SCOPES = ['sites:read', 'sites:write', 'deployments:read', 'deployments:write']
const page = readFileSync(join(import.meta.dir, '../../docs/first-site.md'), 'utf8')

let here: Installation
let panel: RunningBinary
let key: string
beforeAll(async () => {
  here = await install('ncp-first-site-')
  requireUploadRoom(here.directory)
  const user = await here.run(['user', 'create', '--email', 'ada@example.com', '--password-stdin', '--json'], {
    stdin: PASSWORD,
  })
  panel = await here.serve([], { NCP_SITES_PORT: '0', NCP_SITES_HOST: '127.0.0.1' })
  const admin = (await panel.login('admin@localhost', here.adminPassword())).data.token
  const body = { user_id: JSON.parse(user.stdout).id, name: 'Hosting' }
  expect((await panel.send('POST', '/admin/subscriptions', { as: admin, body })).status).toBe(201)
  const { token } = (await panel.login('ada@example.com', PASSWORD)).data
  const made = await panel.send<{ key: string }>('POST', '/auth/api-keys', {
    as: token,
    body: { name: 'First site', scopes: SCOPES },
  })
  key = made.data.key
})
afterAll(() => here.remove())

test('its lines create a site, deploy to it twice, fetch it, and go back', async () => {
  for (const scope of SCOPES) expect(page).toContain(`\`${scope}\``)
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block)
  expect(blocks.length).toBeGreaterThan(4)
  const script = blocks
    .map((block, index) => `${block}\necho "== ${index}"`)
    .join('\n')
    .replace(/^export NCP_\w+=.*$/gm, '')
    // A name that every resolver finds on this machine.
    .replaceAll('www.example.com', 'first.localhost')
  const shell = Bun.spawn(['bash', '-euo', 'pipefail', '-c', script], {
    cwd: here.directory,
    env: {
      PATH: '/usr/bin:/bin',
      NCP_URL: panel.origin,
      NCP_KEY: key,
      CURL_CA_BUNDLE: here.inData('tls/cert.pem'),
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const { stdout, stderr, exitCode } = await outputOf(shell, 'the example')
  expect([stderr, exitCode]).toEqual(['', 0])
  const [setUp, created, deployed, fetched, again, back] = stdout.split(/^== \d+\n/m)
  expect(setUp).toBe('')
  const url = /^http:\/\/first\.localhost:\d+$/
  expect(created?.split('\n')).toEqual(['active', expect.stringMatching(url), ''])
  expect([deployed, fetched, again]).toEqual(['active\n', '<h1>Hello</h1>\n', 'true\n'])
  expect(back).toBe('Deployment activation started\nactive\n')
})

test('its limits are those of the program', () => {
  const mebibytes = (bytes: number) => `${bytes / 1024 / 1024} MiB`
  const { unpack, uploadsPerSubscription, waiting } = LIMITS
  const { maxArchiveBytes, maxUnpackedBytes, maxFiles } = OF_SUBSCRIPTIONS
  const rows = [...page.matchAll(/^\| ([^|]+) \| ([\d,]+(?: MiB| seconds)?) \|$/gm)].map(([, what, most]) => [
    what,
    most,
  ])
  expect(rows).toEqual([
    ['archive, as uploaded', mebibytes(maxArchiveBytes.default)],
    ['files, unpacked', mebibytes(maxUnpackedBytes.default)],
    ['files, folders and links', maxFiles.default.toLocaleString('en-US')],
    ['time to unpack', `${unpack.maxSeconds} seconds`],
    ['uploads of a subscription at a time', `${uploadsPerSubscription}`],
    ['archives of a subscription that wait to be unpacked', `${waiting}`],
  ])
})
