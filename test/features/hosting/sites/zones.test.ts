/** Which names a customer may take, given the owners of the names above and below. */
import { describe, expect, test } from 'bun:test'
import { operator } from '../../../../src/core/actor.ts'
import { usePanel } from '../../../harness/panel.ts'

type Site = { id: number; domain: string; aliases: string[] }

const panel = await usePanel({ publicUrl: 'https://panel.example.net', acmeDomains: ['console.example.net'] })
const ada = await panel.customer()
await panel.subscription(ada.id)
const bob = await panel.customer()
const bobs = await panel.subscription(bob.id)

const create = (as: string, domain: string, aliases: string[] = []) =>
  panel.post<Site>('/sites', as, { domain, aliases })

describe('a name below a domain of another customer', () => {
  const within = 'lies within a domain of another customer; ask your provider'
  test.each([
    ['shop.ada.example', [], `domain: ${within}`],
    ['a.b.c.ada.example', [], `domain: ${within}`],
    ['bob-1.example', ['bob-1.ada.example'], `aliases.0: ${within}`],
    ['x.www.ada.example', [], `domain: ${within}`],
  ])('is 409: %s %j', async (domain, aliases, message) => {
    await create(ada.token, 'ada.example', ['www.ada.example'])
    const answer = await create(bob.token, domain, aliases)
    expect([answer.status, answer.error, answer.message]).toEqual([409, 'conflict', message])
  })

  test('is 409 for a change too, and the site keeps its names', async () => {
    const { data: site } = await create(bob.token, 'bob-2.example')
    for (const change of [{ domain: 'two.ada.example' }, { aliases: ['two.ada.example'] }]) {
      expect((await panel.patch(`/sites/${site.id}`, bob.token, change)).status).toBe(409)
    }
    expect((await panel.get<Site>(`/sites/${site.id}`, bob.token)).data).toEqual(site)
  })

  test('can be taken by the same customer, in any subscription', async () => {
    const second = await panel.subscription(ada.id)
    const body = { domain: 'blog.ada.example', subscription_id: second }
    expect((await panel.post('/sites', ada.token, body)).status).toBe(201)
  })

  test('can be taken for a customer by an administrator or the operator, and then be kept', async () => {
    const body = { domain: 'granted.ada.example', subscription_id: bobs }
    const { status, data: site } = await panel.post<Site>('/sites', await panel.admin(), body)
    expect(status).toBe(201)
    expect((await panel.patch(`/sites/${site.id}`, bob.token, { aliases: ['bob-3.example'] })).status).toBe(200)
    await panel.services.sites.createFor(operator, bobs, { domain: 'operator.ada.example', aliases: [] })
  })
})

describe('a name above a site of another customer', () => {
  test.each(['deep.example', 'under.deep.example'])('is 409: %s', async (domain) => {
    await create(ada.token, 'site.under.deep.example')
    const answer = await create(bob.token, domain)
    expect([answer.status, answer.message]).toEqual([
      409,
      'domain: lies above a site of another customer; ask your provider',
    ])
  })

  test('does not include names with only the same ending', async () => {
    await create(ada.token, 'alike.example')
    for (const domain of ['notalike.example', 'alike.example.org', 'alike-too.example', 'like.example']) {
      expect([domain, (await create(bob.token, domain)).status]).toEqual([domain, 201])
    }
  })
})

describe('a public suffix', () => {
  test.each(['co.uk', 'github.io', 'CO.UK', 'compute.amazonaws.com'])('is 422: %s', async (domain) => {
    const message = 'is a public suffix, below which others register names'
    const asDomain = await create(bob.token, domain)
    expect([asDomain.status, asDomain.message]).toEqual([422, `domain: ${message}`])
    const asAlias = await create(await panel.admin(), 'suffix.example', [domain])
    expect([asAlias.status, asAlias.message]).toEqual([422, `aliases.0: ${message}`])
  })

  test('belongs to no customer, so names below it are free', async () => {
    expect((await create(ada.token, 'ada.co.uk')).status).toBe(201)
    expect((await create(bob.token, 'bob.co.uk')).status).toBe(201)
  })
})

test.each(['panel.example.net', 'console.example.net'])('the panel’s own name is 409: %s', async (domain) => {
  const { status, message } = await create(await panel.admin(), domain)
  expect([status, message]).toEqual([409, "domain: is the panel's own name"])
  const asAlias = await create(await panel.admin(), 'own.example', [domain])
  expect([asAlias.status, asAlias.message]).toEqual([409, "aliases.0: is the panel's own name"])
})
