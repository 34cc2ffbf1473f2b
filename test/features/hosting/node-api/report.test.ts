/** A node's report is hostile input: it tells of the node's own sites, and of nothing else. */
import { describe, expect, test } from 'bun:test'
import { operator } from '../../../../src/core/actor.ts'
import type { NodeReport } from '../../../../src/node/protocol.ts'
import { openConnection } from '../../../harness/connection.ts'
import { storedRows } from '../../../harness/database.ts'
import { addNode, connectNode, type NodeClient } from '../../../harness/node-client.ts'
import { until } from '../../../harness/until.ts'
import { serving, useNodes } from './world.ts'

const { panel, one, other, newSite, deploy, shown } = await useNodes()

const empty = { sites: [], releases: [], removed_subscriptions: [] }
const send = (body: unknown, as = one.token) => panel.send<{ ignored: number }>('POST', '/node/report', { as, body })
const deployments = async ({ site, token }: { site: number; token: string }) =>
  (await panel.get<{ status: string; failure: object | null }[]>(`/sites/${site}/deployments`, token)).data

describe('a report', () => {
  test('of a site that is served makes it active', async () => {
    const place = await newSite(one)
    expect((await one.report({ sites: [serving(place)] })).data).toEqual({ ignored: 0 })
    expect((await shown(place)).status).toBe('active')
  })

  test('may be sent again, and changes nothing then', async () => {
    const place = await newSite(one)
    const { data: deployment } = await deploy(place)
    const report: Partial<NodeReport> = {
      sites: [serving(place)],
      releases: [{ siteId: place.site, deploymentId: deployment.id, state: 'ready', files: 1, bytes: 5 }],
    }
    await one.report(report)
    const before = storedRows(panel)
    expect((await one.report(report)).data).toEqual({ ignored: 0 })
    expect(storedRows(panel)).toEqual(before)
  })

  test('of what was put right is an event of the site, once, for its customer too', async () => {
    const place = await newSite(one)
    const repaired = ['/srv/ncp/www/a.example']
    await one.report({ sites: [serving(place)] })
    await one.report({ sites: [{ ...serving(place), repaired }] })
    const { data } = await panel.get<object[]>(`/sites/${place.site}/events`, place.token)
    expect(data.slice(-2)).toMatchObject([
      { kind: 'site.active' },
      { kind: 'site.repaired', generation: 1, details: { repaired } },
    ])
  })

  test('of a deployment that is ready has it served, and of one that failed says why', async () => {
    const place = await newSite(one)
    const { data: first } = await deploy(place)
    await one.report({
      releases: [{ siteId: place.site, deploymentId: first.id, state: 'ready', files: 1, bytes: 5 }],
    })
    await one.report({ sites: [serving(place, 2)] })
    expect((await deployments(place)).map(({ status }) => status)).toEqual(['active'])
    const { data: second } = await deploy(place)
    const failure = { code: 'entry_refused', message: 'No', retryable: false, retryAt: null, entry: '../x', line: 3 }
    await one.report({ releases: [{ siteId: place.site, deploymentId: second.id, state: 'failed', failure }] })
    expect((await deployments(place))[0]).toMatchObject({
      status: 'failed',
      failure: { code: 'entry_refused', line: 3 },
    })
  })

  test('of what was removed ends the deletion of a site and of a subscription', async () => {
    const place = await newSite(one)
    await one.report({ sites: [serving(place)] })
    await panel.delete(`/sites/${place.site}`, place.token)
    const { subscription: subscriptionId, site: siteId } = place
    await one.report({ sites: [{ subscriptionId, siteId, generation: 2, state: 'removed' }] })
    expect((await panel.get(`/sites/${siteId}`, place.token)).status).toBe(404)
    await panel.delete(`/admin/subscriptions/${subscriptionId}`, await panel.admin())
    const known = async () => (await one.state()).data.subscriptions.map(({ id }) => id)
    expect(await known()).toContain(subscriptionId)
    await one.report({ removedSubscriptions: [subscriptionId] })
    expect(await known()).not.toContain(subscriptionId)
  })
})

describe('of what a node claims', () => {
  /** Nothing of it may be stored. */
  async function expectIgnored(node: NodeClient, report: Partial<NodeReport>, ignored: number): Promise<void> {
    const before = storedRows(panel)
    const { status, data } = await node.report(report)
    expect([status, data.ignored]).toEqual([200, ignored])
    expect(storedRows(panel)).toEqual(before)
  }

  test('nothing about the sites, deployments and subscriptions of another node is taken', async () => {
    const theirs = await newSite(other)
    const { data: deployment } = await deploy(theirs)
    const { subscription: subscriptionId, site: siteId } = theirs
    const ready = { siteId, deploymentId: deployment.id, state: 'ready', files: 1, bytes: 5 } as const
    await expectIgnored(one, { sites: [serving(theirs)] }, 1)
    await expectIgnored(one, { releases: [ready] }, 1)
    await expectIgnored(one, { sizes: [{ siteId, bytes: 1, files: 1 }] }, 1)
    await expectIgnored(one, { removedSubscriptions: [subscriptionId] }, 1)
    await panel.delete(`/sites/${siteId}`, theirs.token)
    await expectIgnored(one, { sites: [{ subscriptionId, siteId, generation: 2, state: 'removed' }] }, 1)
  })

  test('nothing about a site in a subscription that it is not in', async () => {
    const mine = await newSite(one)
    const theirs = await newSite(other)
    const { data: deployment } = await deploy(theirs)
    await expectIgnored(one, { sites: [{ ...serving(theirs), subscriptionId: mine.subscription }] }, 1)
    const wrong = { siteId: mine.site, deploymentId: deployment.id, state: 'ready', files: 1, bytes: 5 } as const
    await expectIgnored(one, { releases: [wrong] }, 1)
  })

  test('nothing about a generation that it was not sent', async () => {
    const place = await newSite(one)
    await expectIgnored(one, { sites: [serving(place, 2)] }, 1)
    expect((await one.report({ sites: [serving(place, 1)] })).data.ignored).toBe(0)
  })

  test('nothing about the removal of what is to stay', async () => {
    const place = await newSite(one)
    const { subscription: subscriptionId, site: siteId } = place
    await expectIgnored(one, { sites: [{ subscriptionId, siteId, generation: 1, state: 'removed' }] }, 1)
    await expectIgnored(one, { removedSubscriptions: [subscriptionId] }, 1)
    // A subscription without sites stays on its node too.
    await panel.delete(`/sites/${siteId}`, place.token)
    await one.report({ sites: [{ subscriptionId, siteId, generation: 2, state: 'removed' }] })
    await expectIgnored(one, { removedSubscriptions: [subscriptionId] }, 1)
  })

  test('nothing that does not exist', async () => {
    const nowhere = { subscription: 999_999, site: 999_999, token: '' }
    await expectIgnored(one, { sites: [serving(nowhere)], removedSubscriptions: [999_999, 888_888] }, 3)
  })

  test('nothing changes what is wanted of a site', async () => {
    const place = await newSite(one)
    const { revision } = (await one.state()).data
    await one.report({ sites: [{ ...serving(place), state: 'disabled' }] })
    expect((await one.state(`?after=${revision}`)).data.subscriptions).toEqual([])
  })

  test('no second highest id is taken, and none that cannot be', async () => {
    const { status, message } = await (await addNode(panel)).connect({ highestSubscriptionId: 2_000_000_000 })
    expect([status, message]).toEqual([
      409,
      'node.highest_subscription_id: is far above every subscription of this installation; has the node served another one?',
    ])
  })
})

describe('a report is refused whole', () => {
  const failure = { code: 'broken', message: 'It broke', retryable: false, retry_at: null }
  const site = { subscription_id: 1, site_id: 1, generation: 1 }
  const failed = { ...site, state: 'failed', failure }

  test.each<[string, object, number, string]>([
    ['without its lists', {}, 400, 'sites: is required; releases: is required; removed_subscriptions: is required'],
    ['with a field of its own', { ...empty, desired: [] }, 422, 'desired: is not a known field'],
    [
      'with a mistyped entry',
      { ...empty, sites: [{ ...failed, site_id: '1' }] },
      400,
      'sites.0.site_id: must be an integer',
    ],
    ['with a field inside', { ...empty, sites: [{ ...failed, owner: 1 }] }, 422, 'sites.0.owner: is not a known field'],
    [
      'with a state that nobody knows',
      { ...empty, sites: [{ ...site, state: 'owned' }] },
      422,
      'sites.0.state: must be one of serving, suspended, disabled, failed, removed',
    ],
    [
      'without a root',
      { ...empty, sites: [{ ...site, state: 'serving' }] },
      422,
      'sites.0.document_root: is required in this state',
    ],
    [
      'without a reason',
      { ...empty, sites: [{ ...site, state: 'failed' }] },
      422,
      'sites.0.failure: is required in this state',
    ],
    [
      'with a relative root',
      { ...empty, sites: [{ ...site, state: 'serving', document_root: 'srv' }] },
      422,
      'sites.0.document_root: must be an absolute path, without control characters',
    ],
    [
      'with a terminal sequence in words',
      { ...empty, sites: [{ ...failed, failure: { ...failure, message: '\u001b[2J' } }] },
      422,
      'sites.0.failure.message: must be at most 1000 characters, without control characters',
    ],
    [
      'with words that are too long',
      { ...empty, sites: [{ ...failed, failure: { ...failure, message: 'x'.repeat(1001) } }] },
      422,
      'sites.0.failure.message: must be at most 1000 characters, without control characters',
    ],
    [
      'with a code that is a sentence',
      { ...empty, sites: [{ ...failed, failure: { ...failure, code: 'It broke' } }] },
      422,
      'sites.0.failure.code: must be lower-case words joined by underscores',
    ],
    [
      'with a time that no date can be',
      { ...empty, sites: [{ ...failed, failure: { ...failure, retry_at: 1e16 } }] },
      422,
      'sites.0.failure.retry_at: must be from 0 to 8640000000000000',
    ],
    [
      'with a negative generation',
      { ...empty, sites: [{ ...failed, generation: -1 }] },
      422,
      'sites.0.generation: must be from 0 to 9007199254740991',
    ],
    [
      'with 501 entries',
      { ...empty, sites: Array.from({ length: 501 }, () => failed) },
      422,
      'sites: must have at most 500 entries',
    ],
    [
      'with an id twice',
      { ...empty, removed_subscriptions: [1, 1] },
      422,
      'removed_subscriptions: must not have the same entry twice',
    ],
    [
      'with a held node without words',
      { ...empty, node: { held: { code: 'new_epoch' }, orphans: [], highest_subscription_id: 0 } },
      400,
      'node.held.message: is required',
    ],
    [
      'with a version of PHP that is a path',
      { ...empty, description: { version: '1', php_versions: ['../8'], time: 0 } },
      422,
      'description.php_versions.0: must be such as 8.4',
    ],
  ])('%s', async (_, body, status, message) => {
    const before = storedRows(panel)
    const answer = await send(body)
    expect([answer.status, answer.message]).toEqual([status, message])
    expect(storedRows(panel)).toEqual(before)
  })

  test('beyond a mebibyte', async () => {
    expect((await send({ ...empty, padding: 'x'.repeat(1024 * 1024) })).status).toBe(413)
  })

  test('no shorter than that: a full report of one kind is taken', async () => {
    const place = await newSite(one)
    const sites = Array.from({ length: 500 }, () => ({
      ...failed,
      subscription_id: place.subscription,
      site_id: place.site,
      failure: { ...failure, message: 'x'.repeat(1000) },
    }))
    expect((await send({ ...empty, sites })).status).toBe(200)
  })
})

describe('a token that is revoked', () => {
  let admitted = 0
  const { limiter } = panel.services
  const { take } = limiter
  limiter.take = (...request) => {
    admitted++
    return take(...request)
  }

  /** @param taken after half of the body has been sent */
  async function sendInHalves(token: string, body: object, taken: () => Promise<unknown>) {
    const connection = await openConnection(Number(new URL(panel.origin).port))
    const text = JSON.stringify(body)
    const before = admitted
    connection.write(
      `POST /api/v1/node/report HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text.slice(0, 10)}`,
    )
    await until('the gate to let it pass', () => admitted > before)
    await taken()
    connection.write(text.slice(10))
    const { status } = await connection.answer()
    connection.close()
    return status
  }

  test('while the body arrives changes nothing', async () => {
    const node = await connectNode(panel)
    const place = await newSite(node)
    const { subscription: subscription_id, site: site_id } = place
    const site = { subscription_id, site_id, generation: 1, state: 'serving', document_root: '/srv' }
    const status = await sendInHalves(node.token, { ...empty, sites: [site] }, () =>
      panel.services.nodes.remove(operator, node.id, { abandons: true }),
    )
    expect(status).toBe(401)
    expect((await shown(place)).status).toBe('failed')
  })

  test('once the body is there is refused in the transaction', async () => {
    const node = await connectNode(panel)
    const place = await newSite(node)
    const { store } = panel.services
    const { write } = store
    // Another process removes the node just before the report is written.
    let isRemoved = false
    store.write = async (work) => {
      if (!isRemoved) {
        isRemoved = true
        store.write = write
        await panel.services.nodes.remove(operator, node.id, { abandons: true })
      }
      return write(work)
    }
    expect((await node.report({ sites: [serving(place)] })).status).toBe(401)
    expect((await shown(place)).status).toBe('failed')
  })
})
