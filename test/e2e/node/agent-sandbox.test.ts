/** The agent with no more capabilities than its unit leaves it. */
import { expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { layout, usingAgentNode } from '../../harness/agent-node.ts'
import { nodeTest } from '../../harness/node-machine.ts'
import { until } from '../../harness/until.ts'

const node = await usingAgentNode()
const { machine, panel, create, deploy, visit } = node

const unit = readFileSync(join(import.meta.dir, '../../../deploy/ncp-agent.service'), 'utf8')
const capabilities = (/^CapabilityBoundingSet=(.+)$/m.exec(unit)?.[1] ?? '')
  .split(' ')
  .map((name) => name.replace('CAP_', '').toLowerCase())

nodeTest('makes a user, unpacks as that user, serves, and removes all of it with its processes', async () => {
  expect(capabilities).toEqual(['setuid', 'setgid', 'chown', 'dac_override', 'fowner', 'kill'])
  // Here the web server is the agent's child, and binds its ports; under systemd it has a unit of its own.
  const left = [...capabilities, 'net_bind_service'].map((name) => `+${name}`).join(',')
  const agent = node.start(['setpriv', `--bounding-set=-all,${left}`, '--no-new-privs'])
  const ada = await node.customer()
  const site = await create(ada)
  expect((await deploy(ada, site, { 'index.html': 'served' })).status).toBe('active')
  expect((await visit(site.domain)).text).toBe('served')
  const effective = /^CapEff:\s+(\w+)$/m.exec(readFileSync(`/proc/${agent.pid()}/status`, 'utf8'))?.[1]
  // CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID, NET_BIND_SERVICE by their numbers.
  const wanted = [0, 1, 3, 5, 6, 7, 10].reduce((sum, bit) => sum + 2 ** bit, 0)
  expect(Number.parseInt(effective ?? '', 16)).toBe(wanted)

  const user = `ncp-s${ada.subscription}`
  await machine.bash('setsid --fork sleep 1000', { as: user })
  await panel.delete(`/admin/subscriptions/${ada.subscription}?delete_sites=true`, await panel.admin())
  await until('the end of the user', async () => (await machine.run(['id', user])).exitCode !== 0)
  expect((await machine.run(['pgrep', 'sleep'])).exitCode).toBe(1)
  await until(
    'the end of its directory',
    async () => (await machine.run(['ls', `${layout.sites}/${user}`])).exitCode === 2,
  )
})
