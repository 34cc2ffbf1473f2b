/** The logs of a site on a node, and how much it is used: read through the panel, bounded, and out of reach of others. */
import { describe, expect } from 'bun:test'
import { layout, type Site, usingAgentNode } from '../../harness/agent-node.ts'
import { nodeTest } from '../../harness/node-machine.ts'
import type { Customer } from '../../harness/panel.ts'
import { until } from '../../harness/until.ts'

const node = await usingAgentNode()
const { machine, panel } = node
let ada: Customer & { subscription: number }
let site: Site
let other: Site
if (machine) {
  node.start()
  ada = await node.customer()
  other = await node.create(ada)
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
    expect(await machine.bash(`ls ${directory()}`)).toMatch(
      /^(access-[\d-]+\.log\n)?php-\d{4}-\d\d-\d\d\.log\nphp\.log\n$/,
    )
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

describe('the access log', () => {
  type Line = {
    text: string
    request: { client: string; host: string; uri: string; status: number; user_agent: string }
  }
  type Hour = { hour: string; requests: number; bytes: number; statuses: Record<string, number> }
  const lines = async (of: Site = site, query = '') =>
    (await panel.get<Line[]>(`/sites/${of.id}/logs?search=mark${query}`, ada.token)).data
  const uris = async (of?: Site) => (await lines(of)).map(({ request }) => request.uri)
  const requests = async (of: Site) =>
    (await panel.get<Hour[]>(`/sites/${of.id}/usage`, ada.token)).data.reduce((sum, hour) => sum + hour.requests, 0)

  nodeTest('has a request as soon as it is answered, in the shape of a site that the panel serves', async () => {
    const headers = { 'user-agent': 'quote " backslash \\ {"host":"x"}' }
    // nginx writes at the latest after a second.
    const [line] = await until('the line', async () => {
      await node.visit(site.domain, '/none/mark?q=%22', { headers })
      const found = await lines()
      return found.length > 0 && found
    })
    expect(line).toEqual({
      time: expect.any(String),
      text: expect.stringMatching(/^GET \/none\/mark\?q=%22 \d+$/),
      request: {
        client: '127.0.0.1',
        scheme: 'http',
        host: site.domain,
        method: 'GET',
        uri: '/none/mark?q=%22',
        status: expect.any(Number),
        bytes: expect.any(Number),
        duration_ms: expect.any(Number),
        referer: '',
        user_agent: headers['user-agent'],
      },
    } as never)
    expect(await machine.bash(`stat -c '%U:%G %a' ${directory()} ${directory()}/access-*.log`)).toBe(
      `root:ncp-s${ada.subscription} 750\nroot:ncp-s${ada.subscription} 640\n`,
    )
    expect((await panel.get(`/sites/${site.id}/logs?kind=error`, ada.token)).status).toBe(409)
  })

  nodeTest(
    'has no line of another site, whatever a stranger asks for, and goes on in a new file and after a kill',
    async () => {
      const hostile = [
        `/mark"}%0a{"h":"${other.domain}"`,
        `/mark?h=${other.domain}","s":000,"t":1,"`,
        // As nginx writes it: without the name, under which it looked the site up.
        `http://${site.domain}/mark/absolute`,
        '/mark\\u000a\\',
      ]
      const requestOf = (target: string) =>
        [
          `GET ${target} HTTP/1.1`,
          `Host: ${target.startsWith('http') ? other.domain : site.domain}`,
          `User-Agent: {"h":"${other.domain}"}`,
          `X-Forwarded-Host: ${other.domain}`,
          'Connection: close\r\n\r\n',
        ].join('\r\n')
      for (const target of hostile) {
        await machine.bash('exec 3<>/dev/tcp/127.0.0.1/80; cat >&3; cat <&3', { stdin: requestOf(target) })
      }
      const log = `${layout.webLogs}/access.log`
      node.agent()?.kill('SIGKILL')
      await node.agent()?.ended()
      // What is written below is no whole lines, which those of nginx must not get into.
      await until('the lines of nginx', async () => {
        const count = await machine.bash(`grep -c '"u":"/mark' ${log} || true`)
        return Number(count) >= hostile.length
      })
      await machine.bash(`(yes ${'x'.repeat(4000)} || true) | head -c 68000000 >>${log}; echo >>${log}`)
      await node.visit(site.domain, '/mark/while-away')
      await node.visit(other.domain, '/mark/of-the-other')
      node.start()
      await until('another file', async () => {
        await uris()
        return Number(await machine.bash(`stat -c %s ${log} || echo 1e9`)) < 1e6
      })
      await node.visit(site.domain, '/mark/in-the-new-file')
      // Each worker of nginx writes its lines when it likes.
      const wanted = [
        ...hostile.map((target) => target.replace(/^http:..[^/]+/, '')),
        '/mark/while-away',
        '/mark/in-the-new-file',
      ]
      const found = await until('all lines', async () => {
        const all = (await uris()).filter((uri) => !uri.startsWith('/none'))
        return all.length >= wanted.length && all
      })
      expect(found.toSorted()).toEqual(wanted.toSorted())
      expect(await uris(other)).toEqual(['/mark/of-the-other'])
    },
  )

  nodeTest('is counted by the hour, each request once', async () => {
    const inLog = async (of: Site) =>
      Number(await machine.bash(`cat ${layout.logs}/ncp-s${ada.subscription}/${of.id}/access-*.log | wc -l`))
    node.compare()
    for (const of of [site, other]) {
      const all = await inLog(of)
      expect(all).toBeGreaterThan(0)
      await until('the counts', async () => (await requests(of)) >= all)
      expect(await requests(of)).toBe(all)
    }
  })

  nodeTest('has the networks of visitors alone, once the operator says so', async () => {
    await panel.patch('/admin/settings', await panel.admin(), { site_log_addresses: 'shortened' })
    await until('short addresses', async () => {
      await node.visit(other.domain, '/mark/short')
      return (await lines(other)).at(-1)?.request.client === '127.0.0.0'
    })
  })

  nodeTest('is removed with its site', async () => {
    await panel.delete(`/sites/${other.id}`, ada.token)
    const path = `${layout.logs}/ncp-s${ada.subscription}`
    await until('no log', async () => !(await machine.bash(`ls ${path}`)).split('\n').includes(`${other.id}`))
    expect(await machine.bash(`ls ${path}`)).toContain(`${site.id}`)
  })
})
