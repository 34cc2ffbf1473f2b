/** PHP's error log of a site on a node: read through the panel, bounded, and out of reach of others. */
import { describe, expect } from 'bun:test'
import { layout, type Site, usingAgentNode } from '../../harness/agent-node.ts'
import { nodeTest } from '../../harness/node-machine.ts'
import type { Customer } from '../../harness/panel.ts'
import { until } from '../../harness/until.ts'

const node = await usingAgentNode()
const { machine, panel } = node
let ada: Customer & { subscription: number }
let site: Site
if (machine) {
  node.start()
  ada = await node.customer()
  site = await node.create(ada, { kind: 'php' })
  await node.deploy(ada, site, { 'index.php': '<?php error_log($_GET["q"] ?? "nothing"); echo "said";' })
}

const directory = () => `${layout.logs}/ncp-s${ada.subscription}/${site.id}`
const say = (text: string) => node.visit(site.domain, `/?q=${encodeURIComponent(text)}`)
const logs = async (query = '') =>
  (await panel.get<{ text: string }[]>(`/sites/${site.id}/logs?kind=php${query}`, ada.token)).data.map(
    ({ text }) => text,
  )

describe('the log of PHP', () => {
  nodeTest('is read through the panel, with lines that code has made up', async () => {
    expect((await say('first')).text).toBe('said')
    await say('two\nlines \u001b[31m')
    const lines = await logs()
    expect(lines.map((line) => line.replace(/^\[[^\]]*\] /, ''))).toEqual(['first', 'two', 'lines \u001b[31m'])
    expect(await logs('&lines=1')).toEqual(['lines \u001b[31m'])
    expect(await logs('&search=FIRST')).toHaveLength(1)
  })

  nodeTest('is moved away before it grows large, and PHP goes on in another', async () => {
    const path = `${directory()}/php.log`
    await machine.bash(`head -c 9000000 <(yes filling) >>${path}`)
    await until('another log', async () => (await machine.bash(`stat -c %s ${path}`)).trim() === '0')
    await say('after')
    expect((await logs('&lines=2')).map((line) => line.replace(/^\[[^\]]*\] /, ''))).toEqual(['filling', 'after'])
    expect(await machine.bash(`ls ${directory()}`)).toMatch(/^php-\d{4}-\d\d-\d\d\.log\nphp\.log\n$/)
    expect(await machine.bash(`stat -c '%U %a' ${path}`)).toBe(`ncp-s${ada.subscription} 640\n`)
  })

  nodeTest('cannot be replaced by its user', async () => {
    const user = `ncp-s${ada.subscription}`
    for (const command of [`ln -sf /etc/shadow ${directory()}/php.log`, `rm -f ${directory()}/php.log`]) {
      const { stderr } = await machine.run(['bash', '-c', command], { as: user })
      expect(stderr).toContain('Permission denied')
    }
  })
})
