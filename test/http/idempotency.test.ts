/** Idempotency-Key: a request that is sent again, because its answer was lost, creates nothing a second time. */
import { beforeEach, describe, expect, test } from 'bun:test'
import { loadSecret, sha256 } from '../../src/crypto/secret.ts'
import { createSecretBox } from '../../src/crypto/secret-box.ts'
import { idempotentAnswers } from '../../src/db/tables.ts'
import { enrol } from '../harness/authenticator.ts'
import { type Customer, usePanel } from '../harness/panel.ts'

type Site = { id: number; domain: string }

const DAY_SECONDS = 24 * 60 * 60

let ada: Customer
const panel = await usePanel()
// A customer each: what is kept is kept for a user.
beforeEach(async () => {
  ada = await panel.customer()
  await panel.subscription(ada.id)
})

let domains = 0
const newDomain = () => `site${++domains}.example`

const post = <Data>(path: string, key: string, body: unknown, as = ada.token) =>
  panel.send<Data>('POST', path, { as, body, headers: { 'idempotency-key': key } })
const createSite = (key: string, domain: string, as = ada.token) => post<Site>('/sites', key, { domain }, as)
/** All that is kept for a user, in plain. */
async function keptFor(owner: number): Promise<string> {
  const secretBox = createSecretBox(loadSecret(`${panel.data}/totp.key`, { create: false }))
  const answers = await panel.services.store.read.select().from(idempotentAnswers)
  const own = answers.filter(({ userId }) => userId === owner)
  expect(own).not.toEqual([])
  return own.map(({ userId, keyHash, answer }) => secretBox.open(answer, `idempotency:${userId}:${keyHash}`)).join()
}
const sitesOf = async (as = ada.token) => (await panel.get<Site[]>('/sites?limit=1000', as)).data

describe('a Location', () => {
  test('names the created resource, in the first response and in a repetition of it, and leads there', async () => {
    const admin = await panel.admin()
    const ada = await panel.customer()
    const creations: [string, string, object][] = [
      ['/admin/users', admin, { email: 'located@example.com', name: 'Located', role: 'customer' }],
      ['/admin/subscriptions', admin, { user_id: ada.id, name: 'Located' }],
      ['/sites', ada.token, { domain: 'located.example' }],
      ['/auth/api-keys', ada.token, { name: 'Located' }],
    ]
    for (const [path, as, body] of creations) {
      const headers = { 'idempotency-key': `located ${path}`.replaceAll(/\W/g, '') }
      const first = await panel.send<{ id: number }>('POST', path, { as, body, headers })
      const location = first.headers.get('location')
      expect([path, first.status, location]).toEqual([path, 201, `/api/v1${path}/${first.data.id}`])
      const found = await panel.get<{ id: number }>(location ?? '', as)
      expect([path, found.status, found.data.id]).toEqual([path, 200, first.data.id])
      // A secret is not told again, and neither where it is.
      const again = await panel.send('POST', path, { as, body, headers })
      expect([path, again.headers.get('location')]).toEqual([path, again.status === 201 ? location : null])
    }
    const plain = await panel.post<{ id: number }>('/sites', ada.token, { domain: 'plain.example' })
    expect(plain.headers.get('location')).toBe(`/api/v1/sites/${plain.data.id}`)
  })

  test('begins with the prefix that a proxy stripped', async () => {
    const ada = await panel.customer()
    await panel.subscription(ada.id)
    const { headers, data } = await panel.send<{ id: number }>('POST', '/sites', {
      as: ada.token,
      body: { domain: 'prefixed.example' },
      headers: { 'x-forwarded-prefix': '/panel' },
    })
    expect(headers.get('location')).toBe(`/panel/api/v1/sites/${data.id}`)
  })
})

describe('a repeated request', () => {
  test('gets the first response again, and creates nothing', async () => {
    const domain = newDomain()
    const first = await createSite('first-try', domain)
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null])
    panel.clock.advance(60)
    const again = await createSite('first-try', domain)
    expect([again.status, again.data, again.message]).toEqual([201, first.data, 'Site created'])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await sitesOf()).toHaveLength(1)
    await panel.services.incidents.flush()
    const { data } = await panel.get<{ action: string }[]>('/audit-log', ada.token)
    expect(data.filter(({ action }) => action === 'site.create')).toHaveLength(1)
  })

  test('gets it with another credential of the same user too, whatever happened to the resource', async () => {
    const domain = newDomain()
    const { data: site } = await createSite('lost', domain)
    await panel.delete(`/sites/${site.id}`, ada.token)
    const again = await createSite('lost', domain, await panel.key(ada.token))
    expect([again.status, again.data]).toEqual([201, site])
    expect(await sitesOf()).toEqual([])
  })

  test.each([
    ['quoted', '"8e03978e-40d5-43e8-bc93-6894a57f9324"', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
    ['with escapes', '"a \\"b\\" \\\\ c"', '"a \\"b\\" \\\\ c"'],
    ['as long as may be', 'x'.repeat(255), `"${'x'.repeat(255)}"`],
  ])('is recognized by its key, %s', async (_, key, same) => {
    const domain = newDomain()
    const first = await createSite(key, domain)
    const again = await createSite(same, domain)
    expect([first.status, again.status, again.data]).toEqual([201, 201, first.data])
  })

  test('gets its user’s current error once the resource belongs to another customer', async () => {
    const bob = await panel.customer()
    const domain = newDomain()
    const created = await createSite('moved', domain)
    const { subscription_id } = created.data as unknown as { subscription_id: number }
    await panel.patch(`/admin/subscriptions/${subscription_id}`, await panel.admin(), { user_id: bob.id })
    const again = await createSite('moved', domain)
    expect([again.status, again.error, again.data]).toEqual([403, 'forbidden', null])
    expect(again.headers.get('idempotent-replayed')).toBeNull()
    expect((await panel.get(`/sites/${created.data.id}`, bob.token)).status).toBe(200)
  })

  test('is the same with its fields in another order, at every depth', async () => {
    const domain = newDomain()
    const send = (rawBody: string) =>
      panel.send<Site>('POST', '/sites', {
        as: ada.token,
        rawBody,
        headers: { 'content-type': 'application/json', 'idempotency-key': 'order' },
      })
    const first = await send(`{"domain":"${domain}","aliases":["a.${domain}","b.${domain}"]}`)
    const second = await send(`{ "aliases": ["a.${domain}", "b.${domain}"], "domain": "${domain}" }`)
    expect([first.status, second.status, second.data]).toEqual([201, 201, first.data])
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    // The order of a list says something.
    expect((await send(`{"domain":"${domain}","aliases":["b.${domain}","a.${domain}"]}`)).status).toBe(409)
  })

  test('sent many times at once is processed once, and all get the same response', async () => {
    const domain = newDomain()
    const answers = await Promise.all(Array.from({ length: 10 }, () => createSite('at-once', domain)))
    const [site] = await sitesOf()
    for (const { status, data } of answers) expect([status, data]).toEqual([201, site as Site])
    expect(await sitesOf()).toHaveLength(1)
  })

  test('by an administrator creates one subscription and one user', async () => {
    const admin = await panel.admin()
    const hosting = { user_id: ada.id, name: 'Second' }
    const subscriptions = [1, 2].map(() => post('/admin/subscriptions', 'sub', hosting, admin))
    const [one, two] = await Promise.all(subscriptions)
    expect([one?.status, two?.status, two?.data]).toEqual([201, 201, one?.data])
    expect((await panel.get<unknown[]>('/subscriptions', ada.token)).data).toHaveLength(2)

    const eve = { email: 'eve@example.com', name: 'Eve', role: 'customer' }
    const first = await post<{ id: number; activation: { token: string } }>('/admin/users', 'user', eve, admin)
    const again = await post('/admin/users', 'user', eve, admin)
    expect([first.status, again.status, again.error, again.message]).toEqual([
      201,
      409,
      'conflict',
      `The first of these requests created user ${first.data.id}, and only its response showed the activation token: renew it with POST /admin/users/${first.data.id}/activation`,
    ])
    expect((await panel.get<unknown[]>('/admin/users?email=eve@example.com', admin)).data).toHaveLength(1)
    // The token opens an account: even with the box open, it is not found.
    expect(await keptFor(1)).not.toContain(first.data.activation.token)
    expect((await post(`/admin/users/${first.data.id}/activation`, 'renew', undefined, admin)).status).toBe(200)
  })
})

describe('the key of a request', () => {
  test('is 409 for a different request, which is not processed', async () => {
    const domain = newDomain()
    await createSite('taken', domain)
    const others = [
      await createSite('taken', newDomain()),
      await post('/sites', 'taken', { domain, aliases: [newDomain()] }),
      await post('/sites?subscription_id=1', 'taken', { domain }),
      await post('/auth/api-keys', 'taken', { name: 'Other' }),
    ]
    for (const { status, error, message } of others) {
      expect([status, error, message]).toEqual([
        409,
        'conflict',
        'Idempotency-Key: was used for another request; choose a new one for each',
      ])
    }
    expect(await sitesOf()).toHaveLength(1)
  })

  test('means nothing to another user', async () => {
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    const [adas, bobs] = [await createSite('same', newDomain()), await createSite('same', newDomain(), bob.token)]
    expect([adas.status, bobs.status]).toEqual([201, 201])
    expect(bobs.data.id).not.toBe(adas.data.id)
  })

  test('is forgotten after a day', async () => {
    const admin = await panel.admin()
    const hosting = { user_id: ada.id, name: 'Daily' }
    const first = await post<{ id: number }>('/admin/subscriptions', 'daily', hosting, admin)
    panel.clock.advance(DAY_SECONDS - 1)
    const later = await panel.login('admin@localhost', panel.adminPassword())
    expect((await post<{ id: number }>('/admin/subscriptions', 'daily', hosting, later)).data.id).toBe(first.data.id)
    panel.clock.advance(1)
    const next = await post<{ id: number }>('/admin/subscriptions', 'daily', hosting, later)
    expect([next.status, next.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect(next.data.id).toBeGreaterThan(first.data.id)
  })

  test.each([
    ['nothing', ''],
    ['an empty string', '""'],
    ['a space', 'a b'],
    ['a list', '"a", "b"'],
    ['two words', 'a, b'],
    ['a parameter', '"a";b=1'],
    ['an open quote', '"a'],
    ['a letter beyond ASCII', 'é'],
    ['256 characters', 'x'.repeat(256)],
  ])('that is %s is 400, and nothing is created', async (_, key) => {
    const answer = await createSite(key, newDomain())
    expect([answer.status, answer.message]).toEqual([
      400,
      'Idempotency-Key: must be one string of 1 to 255 printable characters',
    ])
    expect(await sitesOf()).toEqual([])
  })
})

describe('an error', () => {
  test('is not kept: the same request succeeds once the reason is gone', async () => {
    const { data: subscription } = await panel.get<{ id: number }[]>('/subscriptions', ada.token)
    const change = async (status: string) =>
      panel.patch(`/admin/subscriptions/${subscription[0]?.id}`, await panel.admin(), { status })
    await change('suspended')
    const domain = newDomain()
    expect((await createSite('patient', domain)).status).toBe(409)
    await change('active')
    const done = await createSite('patient', domain)
    expect([done.status, done.headers.get('idempotent-replayed')]).toEqual([201, null])
  })

  test('while keeping the response undoes the creation: neither is stored without the other', async () => {
    const row = (number: number) => ({
      userId: ada.id,
      keyHash: `${number}`,
      fingerprint: '',
      answer: '',
      createdAt: 0,
      expiresAt: panel.clock.now() + 1000,
    })
    await panel.services.store.write(async (tx) => {
      for (let from = 0; from < 10_000; from += 1000) {
        await tx.insert(idempotentAnswers).values(Array.from({ length: 1000 }, (_, index) => row(from + index)))
      }
    })
    const answer = await createSite('one-too-many', newDomain())
    expect([answer.status, answer.message]).toEqual([
      409,
      'Idempotency-Key: at most 10000 are kept per day; send the request without one',
    ])
    expect(await sitesOf()).toEqual([])
    // Others are kept apart, and so is what has expired.
    panel.clock.advance(1)
    expect((await createSite('one-too-many', newDomain())).status).toBe(201)
  })

  test('is returned once megabytes of responses are kept for a user, however few sites exist', async () => {
    const { idempotency, store } = panel.services
    const answersOf = async () =>
      (await store.read.select().from(idempotentAnswers)).filter(({ userId }) => userId === ada.id)
    const sizeOf = (answers: { answer: string }[]) => answers.reduce((sum, { answer }) => sum + answer.length, 0)
    // Most of them, kept by what keeps those of requests: it would take hundreds of requests.
    const large = { body: 'x'.repeat(700_000) }
    for (let number = 0; number < 8; number++) {
      const request = { userId: ada.id, keyHash: sha256(`large-${number}`), fingerprint: sha256('large') }
      await idempotency.once(
        request,
        (conclude) => store.write((tx) => conclude(tx, undefined)),
        () => large,
      )
    }
    const before = sizeOf(await answersOf())
    expect(before).toBeGreaterThan(7_400_000)
    expect(before).toBeLessThan(7_600_000)
    const label = 'a'.repeat(60)
    const aliases = Array.from({ length: 100 }, (_, n) => `${label}.${label}.${label}.${'b'.repeat(50)}.a${n}.example`)
    const long = (number: number) => post<Site>('/sites', `long-${number}`, { domain: newDomain(), aliases })
    let answer = await long(0)
    let kept = 0
    for (; answer.status === 201 && kept < 1000; answer = await long(kept)) {
      kept++
      await panel.delete(`/sites/${answer.data.id}`, ada.token)
    }
    expect([answer.status, answer.message]).toEqual([
      409,
      'Idempotency-Key: at most 8 MB of responses are kept per day; send the request without one',
    ])
    const answers = await answersOf()
    expect(kept).toBeGreaterThan(5)
    expect(answers).toHaveLength(8 + kept)
    // The next one would have been too much, and the last one was not.
    const longest = (sizeOf(answers) - before) / kept + 100
    expect(sizeOf(answers)).toBeLessThanOrEqual(8_000_000)
    expect(sizeOf(answers) + longest).toBeGreaterThan(8_000_000)
    expect(await sitesOf()).toEqual([])
    expect((await panel.post('/sites', ada.token, { domain: newDomain() })).status).toBe(201)
    panel.clock.advance(DAY_SECONDS)
    ada = { ...ada, token: await panel.login(ada.email) }
    expect((await createSite('next-day', newDomain())).status).toBe(201)
  })

  test('about a missing credential or right comes before any check of the key', async () => {
    const domain = newDomain()
    await createSite('private', domain)
    const headers = { 'idempotency-key': 'private' }
    expect((await panel.send('POST', '/sites', { body: { domain }, headers })).status).toBe(401)
    expect((await post('/admin/users', 'private', {})).status).toBe(403)
    await panel.patch(`/admin/users/${ada.id}`, await panel.admin(), { status: 'disabled' })
    expect((await createSite('private', domain)).status).toBe(401)
  })
})

describe('an API key', () => {
  test('is created once, and its secret is only in the first response', async () => {
    const body = { name: 'Deploy' }
    const first = await post<{ id: number; key: string }>('/auth/api-keys', 'key', body)
    expect(first.status).toBe(201)
    const again = await post('/auth/api-keys', 'key', body)
    expect([again.status, again.error, again.message]).toEqual([
      409,
      'conflict',
      `The first of these requests created API key ${first.data.id}, and only its response showed the secret: rotate the key, or delete it`,
    ])
    expect((await panel.get<unknown[]>('/auth/api-keys', ada.token)).data).toHaveLength(1)
    // As the contract says: of the key itself, only its hash is stored, even with the box open.
    expect(await keptFor(ada.id)).not.toContain(first.data.key)
  })

  test('requested again with the fresh code that its user must send gets the same response', async () => {
    const { freshCode } = await enrol(panel, ada.token)
    await panel.patch('/admin/settings', await panel.admin(), { require_code_for_api_keys: true })
    const create = (name: string) => post<{ id: number }>('/auth/api-keys', 'fresh', { name, totp_code: freshCode() })
    const first = await create('Deploy')
    expect(first.status).toBe(201)
    const again = await create('Deploy')
    expect([again.status, again.message]).toEqual([409, expect.stringContaining(`created API key ${first.data.id},`)])
    expect((await create('Another')).message).toContain('was used for another request')
    const rotate = (code = freshCode()) =>
      post(`/auth/api-keys/${first.data.id}/rotate`, 'rotate', { totp_code: code, grace_seconds: 60 })
    expect([(await rotate()).status, (await rotate()).message]).toEqual([
      200,
      expect.stringContaining('The first of these requests rotated'),
    ])
    await panel.patch('/admin/settings', await panel.admin(), { require_code_for_api_keys: false })
  })

  test('requested many times at once is created once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => post('/auth/api-keys', 'keys', { name: 'Parallel' })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409])
    expect((await panel.get<unknown[]>('/auth/api-keys', ada.token)).data).toHaveLength(1)
  })
})
