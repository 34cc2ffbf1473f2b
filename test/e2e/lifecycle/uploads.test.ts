/** Uploads to the compiled panel: what they take of its memory, and what is left when it ends in the middle of one. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { archiveOf } from '../../harness/archives.ts'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { openConnection } from '../../harness/connection.ts'
import { requireUploadRoom } from '../../harness/directory.ts'
import { PASSWORD } from '../../harness/panel.ts'
import { canTrace, delayAfterRenames } from '../../harness/strace.ts'
import { END, rawEntry } from '../../harness/tar.ts'
import { until } from '../../harness/until.ts'

// A first run compiles the binary.
setDefaultTimeout(600_000)

const MEBIBYTE = 1024 * 1024
const LARGE = 200 * MEBIBYTE
/** What a large upload may add to the panel's memory: far less than what it sends. */
const GROWTH = 120 * MEBIBYTE

const SITES = { NCP_SITES_PORT: '0', NCP_SITES_HOST: '127.0.0.1' }

type Site = { id: number }
type Deployment = { id: number; number: number; status: string }

let here: Installation
let token: string
let site: number
beforeAll(async () => {
  here = await install('ncp-uploads-')
  requireUploadRoom(here.directory, LARGE)
  const user = await here.run(['user', 'create', '--email', 'ada@example.com', '--password-stdin', '--json'], {
    stdin: PASSWORD,
  })
  const panel = await start()
  const admin = (await panel.login('admin@localhost', here.adminPassword())).data.token
  const body = { user_id: JSON.parse(user.stdout).id, name: 'Hosting' }
  expect((await panel.send('POST', '/admin/subscriptions', { as: admin, body })).status).toBe(201)
  token = (await panel.login('ada@example.com', PASSWORD)).data.token
  site = (await panel.send<Site>('POST', '/sites', { as: token, body: { domain: 'uploads.example' } })).data.id
  expect(await panel.stop()).toBe(0)
})
afterAll(() => here.remove())

const start = (environment: Record<string, string> = {}) => here.serve(['--no-tls'], { ...SITES, ...environment })

const onDisk = () => {
  const directory = here.inData('sites/archives')
  return existsSync(directory) ? readdirSync(directory) : []
}
const deploymentsOf = async (panel: RunningBinary) =>
  (await panel.send<Deployment[]>('GET', `/sites/${site}/deployments`, { as: token })).data

const path = (query = '') => `/api/v1/sites/${site}/deployments${query}`

async function upload(panel: RunningBinary, body: Bun.BodyInit, query = ''): Promise<Deployment> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await panel.request(path(query), { method: 'POST', headers, body })
  const { data } = (await response.json()) as { data: Deployment }
  expect(response.status).toBe(201)
  return data
}

async function ended(panel: RunningBinary, { id }: Deployment): Promise<Deployment> {
  return until('the end of a deployment', async () => {
    const { data } = await panel.send<Deployment>('GET', `/sites/${site}/deployments/${id}?wait=observed`, {
      as: token,
    })
    return data.status !== 'unpacking' && data
  })
}

/** The head of an upload and half of its body, which the panel has written. */
async function beginUpload(panel: RunningBinary) {
  const archive = archiveOf({ 'index.html': 'x'.repeat(MEBIBYTE) }, { gzip: false })
  const half = archive.length / 2
  const connection = await openConnection(panel.port)
  const head = [
    `POST ${path()} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    `Content-Length: ${archive.length}`,
  ]
  connection.write(`${head.join('\r\n')}\r\n\r\n`)
  connection.write(archive.subarray(0, half))
  await until('half of the archive', () => {
    const [name] = onDisk().filter((name) => name.startsWith('.upload-'))
    return name !== undefined && statSync(here.inData('sites/archives', name)).size === half
  })
  return connection
}

/** The next start finds nothing to mend, and the next deployment is the next number. */
async function expectCleanStart(number: number): Promise<void> {
  const panel = await start()
  expect(onDisk()).toEqual([])
  const before = await deploymentsOf(panel)
  const { status } = await ended(panel, await upload(panel, archiveOf({ 'index.html': `release ${number}` })))
  expect(status).toBe('active')
  expect((await deploymentsOf(panel)).map((one) => one.number)).toEqual([number, ...before.map((one) => one.number)])
  await until('the archive is gone', () => onDisk().length === 0)
  expect(panel.stderr()).not.toMatch(/"level":"(error|fatal)"/)
  expect(await panel.stop()).toBe(0)
}

/** Of a process, in bytes. */
function memoryOf({ pid }: RunningBinary, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024
}

describe('a panel that ends in the middle of an upload', () => {
  test('because it is told to leaves nothing of it, and starts clean', async () => {
    const panel = await start({ NCP_DRAIN_SECONDS: '1' })
    const connection = await beginUpload(panel)
    expect(await panel.stop()).toBe(0)
    expect(onDisk()).toEqual([])
    await until('the end of the connection', connection.isClosed)
    await expectCleanStart(1)
  })

  test('because it is killed removes what is left of it at the next start', async () => {
    const panel = await start()
    const connection = await beginUpload(panel)
    panel.signal('SIGKILL')
    await panel.ended()
    expect(onDisk()).toHaveLength(1)
    connection.close()
    await expectCleanStart(2)
  })

  test.skipIf(!canTrace)(
    'because it is killed after the archive has its name, and before it is committed',
    async () => {
      const panel = await start()
      const stopDelaying = await delayAfterRenames(panel.pid, 600)
      const refused = upload(panel, archiveOf({ 'index.html': 'never confirmed' })).catch((error) => error)
      await until('the name of the archive', () => onDisk().some((name) => /^\d+$/.test(name)))
      panel.signal('SIGKILL')
      // Only then does its tracer let it go.
      await stopDelaying()
      await panel.ended()
      expect(await refused).toBeInstanceOf(Error)
      const database = new Database(here.inData('ncp.db'), { readonly: true })
      const numbers = database.query('select number from deployments order by number').all()
      database.close()
      expect([numbers, onDisk()]).toEqual([[{ number: 1 }, { number: 2 }], [expect.stringMatching(/^\d+$/)]])
      await expectCleanStart(3)
    },
  )
})

test('the memory of the panel grows by far less than a large archive, which is more than that', async () => {
  const panel = await start()
  // What the first one of a process needs, whatever its size.
  await ended(panel, await upload(panel, archiveOf({ 'index.html': 'x'.repeat(MEBIBYTE) }, { gzip: false })))

  const file = here.path('large.tar')
  const large = openSync(file, 'w')
  const some = Buffer.alloc(MEBIBYTE, 'x')
  writeSync(large, rawEntry({ name: 'index.html', size: LARGE }))
  for (let written = 0; written < LARGE; written += some.length) writeSync(large, some)
  writeSync(large, END)
  closeSync(large)

  const before = memoryOf(panel, 'VmRSS')
  // Resets the peak (proc(5), clear_refs).
  writeFileSync(`/proc/${panel.pid}/clear_refs`, '5')
  const deployment = await upload(panel, Bun.file(file), '?activate=false')
  const grownWhileReceived = memoryOf(panel, 'VmHWM') - before
  // The panel reads all of it once more, before it is unpacked.
  expect(await ended(panel, deployment)).toMatchObject({ status: 'ready', archive_bytes: LARGE + 512 + END.length })
  const grown = memoryOf(panel, 'VmHWM') - before
  expect(grownWhileReceived).toBeLessThan(GROWTH)
  expect(grown).toBeLessThan(GROWTH)
  expect(await panel.stop()).toBe(0)
})
