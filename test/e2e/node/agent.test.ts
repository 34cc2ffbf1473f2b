/** Static sites on a node, from a request to the API to what a visitor gets of our own nginx. */
import { describe, expect } from 'bun:test'
import { connect } from 'node:net'
import { layout, type Site, usingAgentNode } from '../../harness/agent-node.ts'
import { nodeTest } from '../../harness/node-machine.ts'
import type { Customer } from '../../harness/panel.ts'
import { until } from '../../harness/until.ts'
import { zip } from '../../harness/zip.ts'

const node = await usingAgentNode()
const { machine, panel, create, observed, deploy, visit } = node
let ada: Customer & { subscription: number }
if (machine) {
  node.start()
  ada = await node.customer()
}

const change = (site: Site, body: object) => panel.patch<Site>(`/sites/${site.id}`, ada.token, body)
const suspended = async (status: 'active' | 'suspended'): Promise<unknown> =>
  panel.patch(`/admin/subscriptions/${ada.subscription}`, await panel.admin(), { status })
const pageOf = async (host: string, path = '/') => {
  const { status, text } = await visit(host, path)
  return [status, text] as const
}
/** @returns `owner:group mode` */
const accessOf = async (path: string) => (await machine.bash(`stat -c '%U:%G %a' ${path}`)).trim()

nodeTest('a second agent on a node does not start', async () => {
  const { exitCode, stderr } = await machine.run(['ncp', 'agent'])
  expect([exitCode, stderr]).toEqual([1, 'ncp agent: another agent runs on this node already: stop it first\n'])
})

describe('a new site', () => {
  nodeTest('is served with a page that says it waits, under every name', async () => {
    const site = await create(ada, { aliases: ['alias.example'] })
    expect(site.serving).toEqual({ driver: 'nginx', node_id: node.node.id })
    expect(await observed(ada, site)).toMatchObject({ status: 'active', generation: 1, observed_generation: 1 })
    for (const host of [site.domain, 'alias.example']) {
      const [status, page] = await pageOf(host)
      expect([status, page]).toEqual([200, expect.stringContaining('waits for its first deployment')])
    }
    expect((await visit('unknown.example')).status).toBe(404)
  })

  nodeTest('has a user and directories into which no other customer gets', async () => {
    const home = `${layout.sites}/ncp-s${ada.subscription}`
    const site = await create(ada)
    await observed(ada, site)
    const passwd = await machine.bash(`getent passwd ncp-s${ada.subscription}; getent shadow ncp-s${ada.subscription}`)
    const uid = 200_000 + ada.subscription
    expect(passwd).toStartWith(`ncp-s${ada.subscription}:x:${uid}:${uid}:`)
    expect(passwd).toContain(':/usr/sbin/nologin\n')
    expect(passwd).toContain(`\nncp-s${ada.subscription}:*:`)
    expect(await machine.bash(`getfacl -cpE ${home} ${home}/sites/${site.id}`)).toBe(
      `user::rwx\nuser:ncp-web:--x\nuser:ncp-s${ada.subscription}:r-x\ngroup::--x\nmask::r-x\nother::---\n\nuser::rwx\nuser:ncp-s${ada.subscription}:r-x\ngroup::--x\nmask::r-x\nother::--x\n\n`,
    )
    expect(await accessOf(`${home}/sites/${site.id}/tmp`)).toBe(`ncp-s${ada.subscription}:ncp-s${ada.subscription} 700`)
  })
})

describe('a deployment', () => {
  nodeTest('is served as the user of its subscription has unpacked it, and the next one after it', async () => {
    const site = await create(ada, { aliases: ['www.deployed.example'] })
    expect((await deploy(ada, site, { 'index.html': 'one', 'css/a.css': 'a{}' })).status).toBe('active')
    for (const host of [site.domain, 'www.deployed.example']) expect(await pageOf(host)).toEqual([200, 'one'])
    const releases = `${layout.sites}/ncp-s${ada.subscription}/sites/${site.id}/releases`
    const user = `ncp-s${ada.subscription}:ncp-s${ada.subscription}`
    expect(await accessOf(`${releases}/1`)).toBe(`${user} 755`)
    expect(await accessOf(`${releases}/1/css/a.css`)).toBe(`${user} 644`)
    expect((await deploy(ada, site, { 'index.html': 'two' })).status).toBe('active')
    expect(await pageOf(site.domain)).toEqual([200, 'two'])
    expect((await visit(site.domain, '/css/a.css')).status).toBe(404)
    expect(await observed(ada, site)).toMatchObject({
      status: 'active',
      document_root: `${layout.sites}/ncp-s${ada.subscription}/sites/${site.id}/current`,
    })
    expect(
      await machine.bash(`readlink ${releases}/../current; ls ${layout.generations} | grep '^${site.id}\\.'`),
    ).toBe(`releases/2\n${site.id}.3\n`)
    expect(await machine.bash(`ls -A ${layout.staging} ${layout.agent}`)).toBe(
      `${layout.agent}:\nmemory.json\n\n${layout.staging}:\n`,
    )
  })

  nodeTest('is unpacked from a zip as its user, links inside of it included', async () => {
    const site = await create(ada)
    const rawBody = zip([
      { name: 'index.html', body: 'from a zip', method: 8 },
      { name: 'l', body: 'index.html', mode: 0o120777 },
    ])
    const { data } = await panel.send<{ id: number }>('POST', `/sites/${site.id}/deployments`, {
      as: ada.token,
      rawBody,
    })
    expect(await node.endOf(ada, site, data.id)).toMatchObject({ status: 'active', number: 1 })
    expect(await pageOf(site.domain)).toEqual([200, 'from a zip'])
    const release = `${layout.sites}/ncp-s${ada.subscription}/sites/${site.id}/releases/1`
    expect(await accessOf(`${release}/index.html`)).toBe(`ncp-s${ada.subscription}:ncp-s${ada.subscription} 644`)
    expect((await machine.bash(`readlink ${release}/l`)).trim()).toBe('index.html')
  })

  nodeTest('with a directory public serves that one and nothing beside it', async () => {
    const site = await create(ada)
    await deploy(ada, site, { 'public/index.html': 'shown', 'secret.txt': 'hidden' })
    expect(await pageOf(site.domain)).toEqual([200, 'shown'])
    expect((await visit(site.domain, '/secret.txt')).status).toBe(404)
  })

  nodeTest('that is no archive fails, and the one before it stays served', async () => {
    const site = await create(ada)
    await deploy(ada, site, { 'index.html': 'good' })
    const { data } = await panel.send<{ id: number }>('POST', `/sites/${site.id}/deployments`, {
      as: ada.token,
      rawBody: Bun.gzipSync(new Uint8Array(4096).fill(1)),
    })
    await until('the failure', async () => {
      const path = `/sites/${site.id}/deployments/${data.id}`
      return (await panel.get<{ status: string }>(path, ada.token)).data.status === 'failed'
    })
    expect(await pageOf(site.domain)).toEqual([200, 'good'])
    const releases = `${layout.sites}/ncp-s${ada.subscription}/sites/${site.id}/releases`
    expect(await machine.bash(`ls -A ${releases}`)).toBe('1\n')
  })
})

describe('a change', () => {
  nodeTest('of the names leaves the old ones free for others', async () => {
    const site = await create(ada)
    await deploy(ada, site, { 'index.html': 'first' })
    await change(site, { domain: 'renamed.example' })
    await observed(ada, site)
    expect(await pageOf('renamed.example')).toEqual([200, 'first'])
    expect((await visit(site.domain)).status).toBe(404)
    const other = await create(ada, { domain: site.domain })
    await observed(ada, other)
    expect((await visit(site.domain)).text).toContain('waits')
  })

  nodeTest('to a single-page site gives index.html for unknown paths, and back', async () => {
    const site = await create(ada, { spa: true })
    await deploy(ada, site, { 'index.html': 'app' })
    expect(await pageOf(site.domain, '/some/route')).toEqual([200, 'app'])
    await change(site, { spa: false })
    await observed(ada, site)
    expect((await visit(site.domain, '/some/route')).status).toBe(404)
  })

  nodeTest('of the switch is 503 with a page that says so, and back', async () => {
    const site = await create(ada)
    await deploy(ada, site, { 'index.html': 'here' })
    await change(site, { enabled: false })
    expect(await observed(ada, site)).toMatchObject({ status: 'disabled' })
    const { status, text, headers } = await visit(site.domain, '/any/path', { method: 'POST' })
    expect([status, text, headers.has('retry-after')]).toEqual([503, expect.stringContaining('switched it off'), true])
    await change(site, { enabled: true })
    expect(await observed(ada, site)).toMatchObject({ status: 'active' })
    expect(await pageOf(site.domain)).toEqual([200, 'here'])
  })

  nodeTest('to a directory that the release does not have fails, and what was served goes on', async () => {
    const site = await create(ada)
    await deploy(ada, site, { 'index.html': 'root' })
    await change(site, { public_dir: 'dist' })
    expect(await observed(ada, site)).toMatchObject({ status: 'failed', failure: { code: 'public_dir_missing' } })
    expect(await pageOf(site.domain)).toEqual([200, 'root'])
  })
})

nodeTest(
  'a suspended subscription’s sites are 503 under every name, on a kept connection too, and come back',
  async () => {
    const site = await create(ada, { aliases: ['kept.example'] })
    await deploy(ada, site, { 'index.html': 'here', 'a.css': 'a{}' })
    const kept = await keptConnection('kept.example')
    expect(await kept.status('/')).toBe(200)
    await suspended('suspended')
    expect(await observed(ada, site)).toMatchObject({ status: 'suspended' })
    expect(await kept.status('/')).toBe(503)
    for (const host of [site.domain, 'kept.example']) {
      for (const path of ['/', '/a.css', '/x.php', '/.env', '/missing']) {
        const { status, headers } = await visit(host, path)
        expect([path, status, headers.has('retry-after')]).toEqual([path, 503, true])
      }
    }
    await suspended('active')
    expect(await observed(ada, site)).toMatchObject({ status: 'active' })
    expect(await kept.status('/a.css')).toBe(200)
    kept.close()
  },
)

describe('a deleted site', () => {
  const isGone = async (site: Site) => {
    expect((await panel.get(`/sites/${site.id}?wait=observed`, ada.token)).status).toBe(404)
    // The panel waits for no node that has never told of it.
    await until('the end of the site', async () => (await visit(site.domain)).status === 404)
    expect(await machine.bash(`ls ${layout.sites}/ncp-s${ada.subscription}/sites ${layout.generations}`)).not.toMatch(
      new RegExp(`^${site.id}(\\.|$)`, 'm'),
    )
  }

  nodeTest('is gone with its files, which are in the trash, where only root sees them', async () => {
    const site = await create(ada)
    await deploy(ada, site, { 'index.html': 'thrown away' })
    await panel.delete(`/sites/${site.id}`, ada.token)
    await isGone(site)
    expect(await machine.bash(`cat ${layout.trash}/${ada.subscription}-${site.id}-*/releases/1/index.html`)).toBe(
      'thrown away',
    )
    expect(await accessOf(layout.trash)).toBe('root:root 700')
  })

  nodeTest.each([
    ['active', async (site: Site): Promise<unknown> => observed(ada, site)],
    [
      'disabled',
      async (site: Site): Promise<unknown> => change(site, { enabled: false }).then(() => observed(ada, site)),
    ],
    [
      'failed',
      async (site: Site): Promise<unknown> =>
        deploy(ada, site, { a: 'b' }).then(() => change(site, { public_dir: 'x' })),
    ],
    ['suspended', async (site: Site): Promise<unknown> => suspended('suspended').then(() => observed(ada, site))],
  ] as [string, (site: Site) => Promise<unknown>][])('goes from the state %s', async (_, bring) => {
    const site = await create(ada)
    await bring(site)
    await panel.delete(`/sites/${site.id}`, await panel.admin())
    await isGone(site)
    await suspended('active')
  })

  nodeTest('goes with its subscription, whose user and processes end', async () => {
    const carl = await node.customer()
    const site = await create(carl)
    await deploy(carl, site, { 'index.html': 'x' })
    const user = `ncp-s${carl.subscription}`
    await machine.bash('setsid --fork sleep 1000', { as: user })
    expect((await machine.run(['pgrep', '-u', user])).exitCode).toBe(0)
    await panel.delete(`/admin/subscriptions/${carl.subscription}?delete_sites=true`, await panel.admin())
    await until('the end of the user', async () => (await machine.run(['id', user])).exitCode !== 0)
    await until('the report', () => node.reports.some((one) => one.removedSubscriptions.includes(carl.subscription)))
    expect((await visit(site.domain)).status).toBe(404)
    expect((await machine.run(['pgrep', 'sleep'])).exitCode).toBe(1)
    expect((await machine.run(['getent', 'group', user])).exitCode).toBe(2)
    expect((await machine.run(['ls', `${layout.sites}/${user}`])).exitCode).toBe(2)
  })
})

/** One connection of a visitor, used again and again. */
async function keptConnection(host: string) {
  const socket = connect({ path: await machine.socketTo(80) })
  let received = ''
  let closed = false
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('close', () => {
    closed = true
  })
  return {
    async status(path: string): Promise<number> {
      received = ''
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      const [, status] = await until('an answer', () => {
        if (closed) throw new Error('the connection was closed')
        const [head = '', body] = received.split('\r\n\r\n')
        const [, length] = /content-length: (\d+)/i.exec(head) ?? []
        return body !== undefined && body.length >= Number(length) && (/^HTTP\/1.1 (\d+)/.exec(head) ?? undefined)
      })
      return Number(status)
    },
    close: () => socket.destroy(),
  }
}
