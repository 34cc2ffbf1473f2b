/** kill -9 while sites are deployed and deleted: the next start serves what is wanted. NCP_TEST_KILLS sets how often. */
import { Database } from 'bun:sqlite'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { type Installation, install, type RunningBinary } from '../../harness/binary.ts'
import { PASSWORD } from '../../harness/panel.ts'
import { archiveOf } from '../../harness/site-archives.ts'
import { until } from '../../harness/until.ts'

const KILLS = Number(process.env.NCP_TEST_KILLS ?? 6)
// A first run compiles the binary.
setDefaultTimeout(60_000 + KILLS * 3000)

const SITES = { NCP_SITES_PORT: '0', NCP_SITES_HOST: '127.0.0.1' }
/** By then a start has come as far as it will. */
const WORK_MS = 600

let here: Installation | undefined
afterAll(() => here?.remove())

type Site = { id: number; subscription_id: number; domain: string; status: string }

const portOf = (panel: RunningBinary) =>
  until('the port of the sites', () => /^sites on port (\d+)$/m.exec(panel.stdout())?.[1])

/** As a request leaves it that came just before the panel was killed. */
function orderWhileStopped(
  { inData }: Installation,
  { served, removed, number }: { served: Site; removed: Site; number: number },
): void {
  const archive = archiveOf({ 'index.html': `release ${number}`, 'deep/er/file.txt': 'x'.repeat(100_000) })
  const database = new Database(inData('ncp.db'))
  database.transaction(() => {
    const { id } = database
      .query<{ id: number }, [number, number, string, number, number]>(
        `insert into deployments (site_id, number, status, sha256, archive_bytes, activates, created_at)
         values (?, ?, 'unpacking', ?, ?, 1, ?) returning id`,
      )
      .get(served.id, number, createHash('sha256').update(archive).digest('hex'), archive.length, Date.now()) ?? {
      id: 0,
    }
    mkdirSync(inData('sites/archives'), { recursive: true })
    writeFileSync(inData('sites/archives', `${id}`), archive, { mode: 0o600 })
    database.run('update sites set is_deleting = 1, generation = generation + 1 where id = ?', [removed.id])
    database.run('delete from desired_states where subscription_id = ?', [served.subscription_id])
    database.run('insert into desired_states (subscription_id) values (?)', [served.subscription_id])
  })()
  database.close()
}

/** Starts the panel, and kills it before it is known how far it came. */
async function killAtWork(here: Installation): Promise<void> {
  const panel = await here.serve([], SITES)
  await Bun.sleep(Math.floor(Math.random() * WORK_MS))
  panel.signal('SIGKILL')
  await panel.ended()
}

test('serves the newest release, and has removed what was deleted once', async () => {
  here = await install('ncp-sites-crash-')
  const created = await here.run(['user', 'create', '--email', 'ada@example.com', '--password-stdin', '--json'], {
    stdin: PASSWORD,
  })
  let panel = await here.serve([], SITES)
  const admin = (await panel.login('admin@localhost', here.adminPassword())).data.token
  const body = { user_id: JSON.parse(created.stdout).id, name: 'Hosting', max_sites: KILLS + 10 }
  expect((await panel.send('POST', '/admin/subscriptions', { as: admin, body })).status).toBe(201)
  const ada = (await panel.login('ada@example.com', PASSWORD)).data.token
  const create = async (domain: string) => {
    const { status, data } = await panel.send<Site>('POST', '/sites', { as: ada, body: { domain } })
    expect(status).toBe(201)
    return (await panel.send<Site>('GET', `/sites/${data.id}?wait=observed`, { as: ada })).data
  }
  const served = await create('served.example')
  const doomed: Site[] = []
  for (let one = 1; one <= KILLS; one++) doomed.push(await create(`doomed-${one}.example`))
  await panel.stop()

  for (const [index, removed] of doomed.entries()) {
    mkdirSync(here.inData('sites', `${removed.id}`, 'releases/1'), { recursive: true })
    orderWhileStopped(here, { served, removed, number: index + 1 })
    await killAtWork(here)
  }

  panel = await here.serve([], SITES)
  const port = await portOf(panel)
  const show = (host: string) => fetch(`http://127.0.0.1:${port}/`, { headers: { host } })
  await until('the newest release', async () => (await (await show('served.example')).text()) === `release ${KILLS}`)
  const token = (await panel.login('ada@example.com', PASSWORD)).data.token
  const { data } = await panel.send<Site>('GET', `/sites/${served.id}?wait=observed`, { as: token })
  expect(data).toMatchObject({ status: 'active' })
  expect(readlinkSync(here.inData('sites', `${served.id}`, 'current'))).toBe(`releases/${KILLS}`)
  const releases = readdirSync(here.inData('sites', `${served.id}`, 'releases'))
  expect(releases.filter((name) => !/^\d+$/.test(name))).toEqual([])
  const trash = readdirSync(here.inData('sites/.trash')).map((name) => name.split('-')[1])
  for (const { id, domain } of doomed) {
    expect((await panel.send('GET', `/sites/${id}?wait=observed`, { as: token })).status).toBe(404)
    expect((await show(domain)).status).toBe(404)
    expect(existsSync(here.inData('sites', `${id}`))).toBeFalse()
    expect(trash.filter((siteId) => siteId === `${id}`)).toHaveLength(1)
  }
  expect(await panel.stop()).toBe(0)
})
