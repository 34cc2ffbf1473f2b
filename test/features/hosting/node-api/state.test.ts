/** What a node is told: its own subscriptions, at once when they change, and nothing of anybody else. */
import { describe, expect, test } from 'bun:test'
import { operator } from '../../../../src/core/actor.ts'
import { addNode } from '../../../harness/node-client.ts'
import { until } from '../../../harness/until.ts'
import { type Place, useNodes } from './world.ts'

const { panel, one, other, newSite, deploy } = await useNodes()

const whole = async () => (await one.state()).data
const idsOf = (subscriptions: { id: number }[]) => subscriptions.map(({ id }) => id)

describe('the state', () => {
  test('has the subscriptions of the node that asks, whole, and no others', async () => {
    const mine = await newSite(one)
    const theirs = await newSite(other)
    const { data: deployment } = await deploy(mine)
    const { data } = await one.state()
    expect(idsOf(data.subscriptions)).toContain(mine.subscription)
    expect(JSON.stringify(data)).not.toContain(`site-${theirs.site}.example`)
    expect(idsOf((await other.state()).data.subscriptions)).not.toContain(mine.subscription)
    expect(data.subscriptions.find(({ id }) => id === mine.subscription)).toMatchObject({
      state: 'active',
      sites: [
        {
          id: mine.site,
          generation: 1,
          state: 'serving',
          to_unpack: [{ deployment_id: deployment.id, number: 1, sha256: deployment.sha256 }],
        },
      ],
    })
  })

  test('after a revision has what changed since', async () => {
    const place = await newSite(one)
    const { revision } = await whole()
    expect((await one.state(`?after=${revision}`)).data).toMatchObject({ revision, subscriptions: [], has_more: false })
    await panel.patch(`/sites/${place.site}`, place.token, { enabled: false })
    const { data } = await one.state(`?after=${revision}`)
    expect(idsOf(data.subscriptions)).toEqual([place.subscription])
    expect(data.revision).toBeGreaterThan(revision)
  })

  test('comes in pages of 500 subscriptions', async () => {
    const third = await addNode(panel)
    await third.connect()
    const { id: user_id } = await panel.customer()
    const admin = await panel.admin()
    for (let count = 0; count < 501; count++) {
      await panel.post('/admin/subscriptions', admin, { user_id, name: 'Many', node_id: third.id })
    }
    const { data: first } = await third.state()
    expect([first.subscriptions.length, first.has_more]).toEqual([500, true])
    const { data: second } = await third.state(`?after=${first.revision}`)
    expect([second.subscriptions.length, second.has_more]).toEqual([1, false])
  }, 60_000)

  test('names the installation and its epoch, the same to all nodes', async () => {
    const { installation_id, epoch } = await whole()
    expect([installation_id?.length, epoch?.length]).toEqual([32, 43])
    expect((await other.state()).data).toMatchObject({ installation_id, epoch })
  })

  test.each([
    ['?after=-1', 422, 'after: must be from 0 to 9007199254740991'],
    ['?after=x', 400, 'after: must be an integer'],
    ['?wait=11', 422, 'wait: must be from 0 to 10'],
    ['?wait=1&wait=1', 400, 'Give each query parameter once'],
    ['?node_id=1', 422, 'node_id: is not a known field'],
  ])('for %s is %i', async (query, status, message) => {
    const answer = await one.state(query)
    expect([answer.status, answer.message]).toEqual([status, message])
  })
})

describe('a node that waits', () => {
  function waiting(revision: number, client = one) {
    let answered = false
    const answer = client.state(`?after=${revision}&wait=10`).finally(() => {
      answered = true
    })
    return { answer, isAnswered: () => answered }
  }

  test('is answered by a change, and by no change of another node', async () => {
    const place = await newSite(one)
    const elsewhere = await newSite(other)
    const { revision } = await whole()
    const { answer, isAnswered } = waiting(revision)
    await panel.patch(`/sites/${elsewhere.site}`, elsewhere.token, { enabled: false })
    expect(isAnswered()).toBeFalse()
    await panel.patch(`/sites/${place.site}`, place.token, { enabled: false })
    const { data } = await answer
    expect(idsOf(data.subscriptions)).toEqual([place.subscription])
  })

  test('is answered with nothing when its time is up', async () => {
    const { revision } = await whole()
    const { status, data } = await one.state(`?after=${revision}&wait=1`)
    expect([status, data.subscriptions, data.revision]).toEqual([200, [], revision])
  })

  test('is refused at once when it is removed', async () => {
    const gone = await addNode(panel)
    await gone.connect()
    const { answer } = waiting(0, gone)
    await panel.services.nodes.remove(operator, gone.id)
    expect((await answer).status).toBe(401)
  })

  test('four times is answered at once the fifth time', async () => {
    const { revision } = await whole()
    const others = [1, 2, 3, 4].map(() => waiting(revision))
    await until('four requests to wait', async () => (await one.state(`?after=${revision}&wait=0`)).status === 200)
    const { status, data } = await one.state(`?after=${revision}&wait=10`)
    expect([status, data.subscriptions]).toEqual([200, []])
    expect(others.map(({ isAnswered }) => isAnswered())).toEqual([false, false, false, false])
    const place: Place = await newSite(one)
    for (const { answer } of others) expect(idsOf((await answer).data.subscriptions)).toEqual([place.subscription])
  })

  test('holds up no end of the panel', async () => {
    const { revision } = await whole()
    const { answer } = waiting(revision)
    await one.state()
    panel.services.commits.stop()
    expect((await answer).status).toBe(200)
  })
})
