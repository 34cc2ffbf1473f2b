/** What someone changes behind the agent's back on a node: what is the agent's is put right and reported, the rest is left alone. */
import { describe, expect } from 'bun:test'
import { and, eq, inArray } from 'drizzle-orm'
import { panelItself } from '../../../src/core/actor.ts'
import { desiredStates } from '../../../src/db/tables.ts'
import { layout, type Site, usingAgentNode } from '../../harness/agent-node.ts'
import { nodeTest } from '../../harness/node-machine.ts'
import type { Customer } from '../../harness/panel.ts'
import { until } from '../../harness/until.ts'

const node = await usingAgentNode()
const { machine, panel, create, observed, deploy, visit } = node
type Owner = Customer & { subscription: number }
let ada: Owner
let site: Site
if (machine) {
  // Before the agent is there.
  await machine.bash(`
    useradd --create-home bob
    echo mine >${layout.names}/README
    ln -s /etc ${layout.names}/etc.example
    mkdir -p ${layout.sites}/notes ${layout.sites}/ncp-s999/sites/4711/releases/1 ${layout.generations}/notes
    echo kept >${layout.sites}/ncp-s999/sites/4711/releases/1/index.html
  `)
  node.start()
  ada = await node.customer()
  site = await create(ada, { aliases: ['drift.example'] })
  await deploy(ada, site, { 'index.html': 'here' })
}

const home = () => `${layout.sites}/ncp-s${ada.subscription}`
const directory = () => `${home()}/sites/${site.id}`
const generation = () => `${layout.generations}/${site.id}.2`
const repairs = () =>
  node.reports.flatMap(({ sites }) => sites).flatMap((one) => ('repaired' in one ? (one.repaired ?? []) : []))
/** All that an attribute of a file can be. */
const looksOf = (path: string) =>
  machine.bash(`stat -c '%F %U %G %a' ${path}; readlink ${path} || true; getfacl -cpE ${path} || true`)

describe('what is changed', () => {
  nodeTest.each<[string, () => string, () => string]>([
    ['the user', () => `userdel ncp-s${ada.subscription}`, () => `the user of subscription ${ada.subscription}`],
    ['a name that is removed', () => `rm ${layout.names}/drift.example`, () => `${layout.names}/drift.example`],
    [
      'a name that leads elsewhere',
      () => `ln -sfn /etc ${layout.names}/drift.example`,
      () => `${layout.names}/drift.example`,
    ],
    ['the mode of a home', () => `chmod 777 ${home()}`, home],
    ['the list of a home', () => `setfacl -m u:bob:rwx ${home()}`, home],
    ['the owner of a home', () => `chown bob ${home()}`, home],
    ['the owner of a site', () => `chown bob:bob ${directory()}`, directory],
    ['the mode of the directory of names', () => `chmod 755 ${layout.names}`, () => ''],
    ['a directory that is removed', () => `rmdir ${directory()}/sessions`, () => `${directory()}/sessions`],
    ['a file beside what is served', () => `echo x >${generation()}/php`, () => `${generation()}/php`],
    ['a directory beside what is served', () => `mkdir -p ${generation()}/php/x`, () => `${generation()}/php`],
    ['what is served', () => `ln -sfn /etc ${generation()}/pub`, () => `${generation()}/pub`],
    [
      'a link that became a directory',
      () => `rm ${generation()}/pub; mkdir ${generation()}/pub`,
      () => `${generation()}/pub`,
    ],
    ['the label', () => `echo 9.9 >${generation()}/generation`, () => `${generation()}/generation`],
    ['the mode of a generation', () => `chmod 755 ${generation()}`, generation],
    ['a page of the server', () => `echo x >${layout.states}/waiting/index.html`, () => ''],
  ])('%s is put right, and reported', async (_, change, reported) => {
    const before = node.reports.length
    const paths = [home(), directory(), `${directory()}/sessions`, layout.names, `${layout.names}/drift.example`]
    const all = () =>
      Promise.all([...paths, generation(), `${generation()}/pub`, `${generation()}/generation`].map(looksOf))
    const looked = await all()
    const user = await machine.bash(`getent passwd ncp-s${ada.subscription}`)
    await machine.bash(change())
    node.compare()
    if (reported() !== '') {
      await until('the report', () =>
        node.reports.slice(before).some(({ sites }) => sites.some((one) => 'repaired' in one)),
      )
      expect(repairs()).toContain(reported())
    }
    await until('the repair', async () => JSON.stringify(await all()) === JSON.stringify(looked))
    expect(await machine.bash(`getent passwd ncp-s${ada.subscription}`)).toBe(user)
    expect(await machine.bash(`ls ${generation()}; cat ${generation()}/generation`)).toBe(
      `generation\npub\n${site.id}.2`,
    )
    for (const host of [site.domain, 'drift.example']) expect((await visit(host)).text).toBe('here')
    expect(await machine.bash(`cat ${layout.states}/waiting/index.html`)).toContain('waits')
  })

  nodeTest('and is not the agent’s stays as it is', async () => {
    await machine.bash(
      `echo more >>${layout.names}/README; echo x >${directory()}/shared/mine; chmod 700 ${directory()}/shared`,
    )
    const before = node.reports.length
    node.compare()
    await machine.bash(`rmdir ${directory()}/sessions`)
    node.compare()
    await until('a report', () => node.reports.length > before)
    expect(
      await machine.bash(
        `cat ${layout.names}/README; readlink ${layout.names}/etc.example; cat ${directory()}/shared/mine; stat -c %a ${directory()}/shared`,
      ),
    ).toBe('mine\nmore\n/etc\nx\n700\n')
    expect(await machine.bash(`ls -d ${layout.sites}/notes ${layout.generations}/notes /home/bob; id bob`)).toContain(
      'bob',
    )
    expect((await visit('etc.example', '/passwd')).status).toBe(404)
  })

  nodeTest('takes no user, and no number, from someone who has it', async () => {
    const carl = await node.customer()
    const uid = 200_000 + carl.subscription
    await machine.bash(`useradd --uid ${uid} --no-create-home squatter`)
    const failing = await create(carl)
    expect(await observed(carl, failing)).toMatchObject({ status: 'failed', failure: { code: 'server_error' } })
    expect((await machine.bash(`getent passwd ${uid}`)).split(':')[0]).toBe('squatter')
    await machine.bash('userdel squatter')
    await until('the site', async () => (await observed(carl, failing)).status === 'active')
  })

  nodeTest('a release that is removed fails its site, which says so', async () => {
    const other = await create(ada)
    await deploy(ada, other, { 'index.html': 'x' })
    await machine.bash(`rm -r ${home()}/sites/${other.id}/releases/1`)
    node.compare()
    await until('the failure', async () => (await observed(ada, other)).status === 'failed')
    expect(await observed(ada, other)).toMatchObject({ failure: { code: 'release_missing' } })
  })
})

/** As a panel does whose database was lost. */
async function forget(...subscriptionIds: number[]): Promise<void> {
  await panel.services.writeAs(panelItself, async (tx) => {
    await tx
      .delete(desiredStates)
      .where(and(eq(desiredStates.nodeId, node.node.id), inArray(desiredStates.subscriptionId, subscriptionIds)))
  })
}

const status = () => node.reports.findLast((one) => one.node)?.node

describe('what the panel does not name', () => {
  nodeTest('is served no more, kept, and reported', async () => {
    expect(status()).toMatchObject({ held: null, orphans: [4711] })
    const carl = await node.customer()
    const lost = await create(carl)
    await deploy(carl, lost, { 'index.html': 'kept' })
    await forget(carl.subscription)
    node.compare()
    await until('the report', () => status()?.orphans.length === 2)
    expect(status()).toMatchObject({ held: null, orphans: [lost.id, 4711], highestSubscriptionId: carl.subscription })
    expect((await visit(lost.domain)).status).toBe(404)
    expect(
      await machine.bash(
        `cat ${layout.sites}/ncp-s${carl.subscription}/sites/${lost.id}/releases/1/index.html ${layout.sites}/ncp-s999/sites/4711/releases/1/index.html`,
      ),
    ).toBe('keptkept\n')
  })

  nodeTest('is served on if it is too much, until the operator accepts that', async () => {
    const dora = await node.customer()
    const many: Site[] = []
    for (let one = 0; one < 11; one++) many.push(await create(dora))
    for (const one of many) await observed(dora, one)
    await forget(dora.subscription)
    node.compare()
    await until('the report', () => status()?.held?.code)
    expect(status()?.held?.code).toBe('too_many_absent')
    for (const { domain } of many) expect((await visit(domain)).status).toBe(200)
    const late = await create(ada)
    expect((await visit(late.domain)).status).toBe(404)
    await machine.bash(`mv ${layout.agent}/held.json ${layout.agent}/accepted.json`)
    await until('the end of it', () => status()?.held === null)
    expect(await observed(ada, late)).toMatchObject({ status: 'active' })
    for (const { domain } of many) expect((await visit(domain)).status).toBe(404)
  })
})

nodeTest('many sites are served on while the agent is killed, and followed again after it', async () => {
  const erik = await node.customer()
  const many: Site[] = []
  for (let one = 0; one < 200; one++) many.push(await create(erik))
  for (const one of many) expect(await observed(erik, one)).toMatchObject({ status: 'active' })
  const before = node.agent()
  before?.kill('SIGKILL')
  await before?.ended()
  for (const { domain } of many) expect((await visit(domain)).status).toBe(200)
  await panel.patch(`/sites/${many[0]?.id}`, erik.token, { domain: 'renamed-at-night.example' })
  await panel.delete(`/sites/${many[1]?.id}`, erik.token)
  node.start()
  await until('the new name', async () => (await visit('renamed-at-night.example')).status === 200)
  await until('the end of the other', async () => (await visit(many[1]?.domain ?? '')).status === 404)
  expect((await visit(many[0]?.domain ?? '')).status).toBe(404)
  for (const { domain } of many.slice(2)) expect((await visit(domain)).status).toBe(200)
  expect((await machine.bash(`ls ${layout.staging}`)).trim()).toBe('')
})

nodeTest('a web server that is killed, or whose workers are left behind, is started again', async () => {
  const pid = async () => (await machine.run(['cat', layout.webPid])).stdout.trim()
  for (const kill of [(old: string) => `kill -9 ${old}`, () => 'pkill -9 -u ncp-web']) {
    const old = await pid()
    // One that has just been started again has no workers yet.
    await until('the end of the web server', async () => (await machine.run(['bash', '-c', kill(old)])).exitCode === 0)
    const one = await create(ada)
    expect(await observed(ada, one)).toMatchObject({ status: 'active' })
    await until('the page', async () => (await visit(one.domain).catch(() => undefined))?.status === 200)
  }
})
