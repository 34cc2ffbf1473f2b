/** The audit log over HTTP: what is in it, who reads what of it, and what an attack can do to it. */
import { describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { newDirectory } from '../../../harness/directory.ts'
import { type Answer, PASSWORD, startPanel, usePanel } from '../../../harness/panel.ts'

type Entry = {
  id: number
  created_at: string
  actor_id: number | null
  credential_kind: string
  credential_id: number | null
  address: string | null
  request_id: string | null
  action: string
  account_id: number | null
  target_type: string | null
  target_id: number | null
  result: string
  reason: string | null
  times: number
  details: Record<string, unknown>
}

/** For which what happens again is summed up. */
const WINDOW_SECONDS = 600

const panel = await usePanel()
const admin = await panel.admin()
const ada = await panel.customer()
await panel.subscription(ada.id)

const log = async (query = '', as = admin) => (await panel.get<Entry[]>(`/admin/audit-log${query}`, as)).data
const ownLog = async (as: string, query = '') => (await panel.get<Entry[]>(`/audit-log${query}`, as)).data
const newest = async () => (await log('?limit=1'))[0]
/** As the timer does: what was counted goes into the log. */
const flush = () => panel.services.incidents.flush()
/** So much later that all of it is there: the timer, which runs by itself, may have written a part before. */
async function flushAll(): Promise<void> {
  panel.clock.advance(WINDOW_SECONDS)
  await flush()
}
const requestId = ({ headers }: Answer) => headers.get('x-request-id')
const login = (email: string, password: string, from?: string) =>
  panel.send('POST', '/auth/login', { body: { email, password }, ...(from !== undefined && { from }) })

describe('an entry', () => {
  test('says who did what, with which credential, from where and in which request', async () => {
    const [session] = (await panel.get<{ id: number }[]>('/auth/sessions', ada.token)).data
    const answer = await panel.send<{ id: number; subscription_id: number }>('POST', '/sites', {
      as: ada.token,
      body: { domain: 'Tells.example', aliases: ['www.tells.example'] },
      from: '203.0.113.9',
    })
    expect(await newest()).toEqual({
      id: expect.any(Number),
      created_at: new Date(panel.clock.now()).toISOString(),
      actor_id: ada.id,
      credential_kind: 'jwt',
      credential_id: session?.id ?? 0,
      address: '203.0.113.9',
      request_id: requestId(answer),
      action: 'site.create',
      account_id: ada.id,
      target_type: 'site',
      target_id: answer.data.id,
      result: 'success',
      reason: null,
      times: 1,
      details: {
        subscription_id: answer.data.subscription_id,
        domain: 'tells.example',
        aliases: ['www.tells.example'],
      },
    })
  })

  test('names the API key that was used', async () => {
    const key = await panel.key(ada.token)
    const [{ id } = { id: 0 }] = (await panel.get<{ id: number }[]>('/auth/api-keys', ada.token)).data
    await panel.post('/sites', key, { domain: 'by-key.example' })
    expect(await newest()).toMatchObject({ actor_id: ada.id, credential_kind: 'api_key', credential_id: id })
  })

  test('is there for every mutation, with the account it concerns', async () => {
    const bob = await panel.customer()
    const seen = (await newest())?.id ?? 0
    const site = (await panel.post<{ id: number }>('/sites', ada.token, { domain: 'every.example' })).data.id
    const other = (await panel.post<{ id: number }>('/admin/subscriptions', admin, { user_id: bob.id, name: 'B' })).data
      .id
    const user = { email: 'made@example.com', name: 'Made', role: 'customer' }
    const made = (await panel.post<{ id: number }>('/admin/users', admin, user)).data.id
    const key = (await panel.post<{ id: number }>('/auth/api-keys', bob.token, { name: 'Bobs' })).data.id
    await panel.login(bob.email)
    for (const [method, path, as, body] of [
      ['PATCH', `/sites/${site}`, admin, { spa: true }],
      ['DELETE', `/sites/${site}`, ada.token],
      ['PATCH', `/admin/subscriptions/${other}`, admin, { user_id: ada.id, max_sites: 3 }],
      ['DELETE', `/auth/api-keys/${key}`, bob.token],
      ['POST', `/admin/users/${made}/activation`, admin],
      ['PATCH', `/admin/users/${made}`, admin, { status: 'disabled' }],
      ['DELETE', `/admin/users/${made}`, admin],
      ['PATCH', '/admin/settings', admin, { jwt_ttl_seconds: 90_000 }],
      ['POST', '/auth/password', bob.token, { current_password: PASSWORD, new_password: 'a new one for bob' }],
      ['POST', '/auth/2fa/setup', bob.token, { password: 'a new one for bob' }],
      ['DELETE', `/admin/users/${bob.id}/sessions`, admin],
    ] as const) {
      const answer = await panel.send(method, path, { as, ...(body && { body }) })
      expect([method, path, answer.status]).toEqual([method, path, 200])
    }
    const entries = (await log('?limit=100')).filter(({ id }) => id > seen).reverse()
    expect(entries.map((entry) => [entry.action, entry.account_id, entry.target_id, entry.result])).toEqual([
      ['site.create', ada.id, site, 'success'],
      ['subscription.create', bob.id, other, 'success'],
      ['user.create', made, made, 'success'],
      ['api_key.create', bob.id, key, 'success'],
      ['auth.login', bob.id, expect.any(Number), 'success'],
      ['site.change', ada.id, site, 'success'],
      ['site.delete', ada.id, site, 'success'],
      // Both whose it was and whose it is.
      ['subscription.change', bob.id, other, 'success'],
      ['subscription.change', ada.id, other, 'success'],
      ['api_key.delete', bob.id, key, 'success'],
      ['user.activation_renew', made, made, 'success'],
      ['user.change', made, made, 'success'],
      ['user.delete', made, made, 'success'],
      ['settings.change', null, null, 'success'],
      ['auth.password_change', bob.id, bob.id, 'success'],
      ['auth.two_factor_setup', bob.id, bob.id, 'success'],
      ['session.end', bob.id, null, 'success'],
    ])
    expect(entries.find(({ action }) => action === 'user.delete')?.details).toEqual({ email: user.email })
  })

  test('is not there for an action that did not happen', async () => {
    await panel.post('/sites', ada.token, { domain: 'once.example' })
    const before = await newest()
    expect((await panel.post('/sites', ada.token, { domain: 'once.example' })).status).toBe(409)
    expect((await panel.post('/sites', ada.token, { domain: 'nonsense' })).status).toBe(422)
    expect((await panel.delete('/sites/999999', ada.token)).status).toBe(404)
    expect(await newest()).toEqual(before)
  })

  test('records a failed proof: on which account, from where, and how often', async () => {
    const carl = await panel.customer()
    for (let i = 0; i < 3; i++) await login(carl.email, 'a wrong password', '198.51.100.1')
    await login('nobody@example.com', 'a wrong password', '198.51.100.1')
    await panel.post('/auth/password', carl.token, { current_password: 'wrong', new_password: 'whatever it is' })
    await panel.post('/auth/password-reset/confirm', undefined, { token: 'made-up', password: 'whatever it is' })
    await panel.post('/auth/password-reset', undefined, { email: 'nobody@example.com' })
    await panel.services.passwordReset.flush()
    await flushAll()
    const failures = (await log('?limit=100')).filter(({ result }) => result === 'failure')
    const sums = new Map<string, number>()
    for (const { action, account_id, address, reason, times } of failures) {
      const about = [action, account_id, address, reason].join(' ')
      sums.set(about, (sums.get(about) ?? 0) + times)
    }
    expect(Object.fromEntries(sums)).toMatchObject({
      [`auth.login ${carl.id} 198.51.100.1 invalid credentials`]: 3,
      'auth.login  198.51.100.1 invalid credentials': 1,
      [`auth.password_confirm ${carl.id} 127.0.0.1 invalid credentials`]: 1,
      'auth.password_set  127.0.0.1 validation error': 1,
      'auth.password_reset_request  127.0.0.1 not found': 1,
    })
  })

  test('records a refused request, but not one without a credential', async () => {
    const bob = await panel.customer()
    const site = (await panel.post<{ id: number }>('/sites', ada.token, { domain: 'adas.example' })).data.id
    const seen = (await newest())?.id ?? 0
    await panel.get(`/sites/${site}`, bob.token)
    await panel.get('/admin/users', bob.token)
    await panel.get('/sites', `ncp_${'0'.repeat(64)}`)
    await panel.get('/sites')
    await panel.get('/nowhere')
    await flush()
    const entries = (await log('?action=request')).filter(({ id }) => id > seen)
    expect(
      entries.map(({ actor_id, result, reason, details }) => [actor_id, result, reason, details]).reverse(),
    ).toEqual([
      [bob.id, 'refused', 'forbidden', { method: 'GET', route: '/api/v1/sites/:id' }],
      [bob.id, 'refused', 'forbidden', { method: 'GET', route: '/api/v1/admin/users' }],
      [null, 'refused', 'not authenticated', { method: 'GET', route: '/api/v1/sites' }],
    ])
  })
})

describe('an attack', () => {
  test('that continues is recorded at once, and then summed up', async () => {
    const carl = await panel.customer()
    const about = async () =>
      (await log(`?user_id=${carl.id}`)).filter(({ result }) => result === 'failure').map(({ times }) => times)
    await login(carl.email, 'a wrong password')
    await flush()
    expect(await about()).toEqual([1])
    for (let i = 0; i < 5; i++) await login(carl.email, 'a wrong password')
    await flush()
    expect(await about()).toEqual([1])
    panel.clock.advance(WINDOW_SECONDS)
    await flush()
    expect(await about()).toEqual([5, 1])
    await flush()
    expect(await about()).toEqual([5, 1])
  })

  test('from a thousand addresses makes a hundred entries and a sum', async () => {
    const own = await startPanel()
    const carl = await own.customer()
    // What is refused leaves room for what is tried at an account, and the other way round.
    for (let i = 0; i < 1000; i++) {
      const from = `198.18.${i >> 8}.${i & 255}`
      if (i < 940) await own.send('GET', '/sites', { as: 'not-a-credential', from })
      else await own.send('POST', '/auth/login', { body: { email: carl.email, password: 'wrong' }, from })
    }
    own.clock.advance(WINDOW_SECONDS)
    await own.services.incidents.flush()
    const { rows } = await own.services.auditLog.list({ limit: 1000, afterId: 0 })
    const sumOf = (entries: typeof rows) => entries.reduce((sum, { times }) => sum + times, 0)
    for (const [action, reason, times] of [
      ['request', 'not authenticated', 940],
      ['auth.login', 'invalid credentials', 60],
    ] as const) {
      const entries = rows.filter((entry) => entry.action === action && entry.reason === reason)
      expect(sumOf(entries)).toBe(times)
      const crowd = entries.filter(({ details }) => details.includes('many addresses'))
      expect(sumOf(crowd)).toBe(times - 50)
      expect(crowd[0]).toMatchObject({ address: null, accountId: null })
      expect(entries.length - crowd.length).toBe(50)
      expect(crowd.length).toBeLessThanOrEqual(2)
    }
    await own.stop()
  }, 600_000)

  test('from one address takes ten places, however many kinds it has', async () => {
    const own = await startPanel()
    const [carl, dora] = [await own.customer(), await own.customer()]
    const customers = await Promise.all(Array.from({ length: 12 }, () => own.customer()))
    const attacker = '198.51.100.66'
    for (const path of ['/sites', '/subscriptions', '/auth/api-keys', '/admin/users', '/admin/settings']) {
      for (const method of ['GET', 'POST']) await own.send(method, path, { as: 'not-a-credential', from: attacker })
      for (const id of [1, 2, 3]) await own.send('GET', `${path}/${id}`, { as: carl.token, from: attacker })
      for (const { token } of customers) await own.send('GET', '/admin/users', { as: token, from: attacker })
    }
    for (const { email } of [...customers, dora]) {
      await own.send('POST', '/auth/login', { body: { email, password: 'wrong' }, from: attacker })
    }
    await own.send('POST', '/auth/login', { body: { email: dora.email, password: 'wrong' }, from: '203.0.113.20' })
    own.clock.advance(WINDOW_SECONDS)
    await own.services.incidents.flush()
    const { rows } = await own.services.auditLog.list({ limit: 1000, afterId: 0 })
    const ofAttacker = rows.filter(({ address, result }) => address === attacker && result !== 'success')
    const others = ofAttacker.filter(({ details }) => details.includes('others from this address'))
    const told = new Set(
      ofAttacker
        .filter((entry) => !others.includes(entry))
        .map(({ action, accountId, reason, details }) => [action, accountId, reason, details].join()),
    )
    expect(told.size).toBe(20)
    expect(others.every(({ actorId, accountId }) => actorId === null && accountId === null)).toBe(true)
    const sumOf = (wanted: string) =>
      others.filter(({ action }) => action === wanted).reduce((sum, { times }) => sum + times, 0)
    expect([sumOf('request') > 0, sumOf('auth.login')]).toEqual([true, 3])
    // Another's attempt is told as ever: at whose account, and from where.
    expect(rows.filter(({ address }) => address === '203.0.113.20')).toMatchObject([
      { action: 'auth.login', result: 'failure', accountId: dora.id, times: 1 },
    ])
    await own.stop()
  }, 600_000)

  test('is summed up in time even though the clock was put back', async () => {
    const carl = await panel.customer()
    await login(carl.email, 'a wrong password')
    await flush()
    await login(carl.email, 'a wrong password')
    panel.clock.advance(-3600)
    await flush()
    const failures = (await log(`?user_id=${carl.id}`, await panel.admin())).filter(
      ({ result }) => result === 'failure',
    )
    panel.clock.advance(3600)
    expect(failures.map(({ times }) => times)).toEqual([1, 1])
  })

  test('still running when the process ends is written at its end', async () => {
    const data = newDirectory()
    const before = await startPanel({ data })
    const carl = await before.customer()
    await before.send('POST', '/auth/login', { body: { email: carl.email, password: 'wrong' } })
    await before.stop()
    const after = await startPanel({ data })
    const { rows } = await after.services.auditLog.list({ limit: 1, afterId: 0 })
    expect(rows).toMatchObject([{ action: 'auth.login', result: 'failure', accountId: carl.id }])
    await after.stop()
    rmSync(data, { recursive: true })
  })
})

describe('a customer', () => {
  test('reads only the events of their own account, newest first', async () => {
    const [bob, carl] = [await panel.customer(), await panel.customer()]
    await panel.subscription(bob.id)
    await panel.post('/sites', bob.token, { domain: 'bobs.example' })
    await panel.subscription(carl.id)
    await login(bob.email, 'a wrong password', '198.51.100.2')
    await flush()
    const entries = await ownLog(bob.token)
    expect(entries.map(({ action, result }) => `${action} ${result}`)).toEqual([
      'auth.login failure',
      'site.create success',
      'subscription.create success',
      'auth.login success',
      'user.create success',
    ])
    expect(entries.every(({ account_id }) => account_id === bob.id)).toBe(true)
    expect(await ownLog(await panel.key(bob.token))).toHaveLength(6)
  })

  test('sees the addresses of strangers’ attempts, but not those of administrators', async () => {
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    await login(bob.email, 'a wrong password', '198.51.100.3')
    await flush()
    const [failure, created] = await ownLog(bob.token)
    expect(failure).toMatchObject({ actor_id: null, address: '198.51.100.3' })
    expect(created).toMatchObject({ action: 'subscription.create', credential_kind: 'jwt', address: null })
    expect([created?.credential_id, created?.request_id]).toEqual([null, null])
    expect(await newest()).toMatchObject({ address: '198.51.100.3' })
  })

  test('who was an administrator can no longer read what they did to others', async () => {
    const [bob, carl] = [await panel.customer('admin'), await panel.customer()]
    await panel.patch('/admin/settings', bob.token, { backup_keep: 8 })
    await panel.patch(`/admin/users/${carl.id}`, bob.token, { name: 'By Bob' })
    await panel.post('/admin/subscriptions', bob.token, { user_id: bob.id, name: 'Own' })
    const own = async (as: string) => (await ownLog(as)).map(({ action, account_id }) => [action, account_id])
    const mine = [
      ['subscription.create', bob.id],
      ['settings.change', null],
      ['auth.login', bob.id],
      ['user.create', bob.id],
    ]
    expect(await own(bob.token)).toEqual([...mine.slice(0, 1), ['user.change', carl.id], ...mine.slice(1)])
    await panel.patch(`/admin/users/${bob.id}`, admin, { role: 'customer' })
    const changed = [
      ['auth.login', bob.id],
      ['user.change', bob.id],
    ]
    expect(await own(await panel.login(bob.email))).toEqual([...changed, ...mine])
    expect((await log(`?user_id=${bob.id}`)).map(({ account_id }) => account_id)).toContain(carl.id)
  })

  test('cannot read another customer’s', async () => {
    for (const as of [ada.token, await panel.key(ada.token)]) {
      expect((await panel.get('/admin/audit-log', as)).status).toBe(403)
      expect((await panel.get(`/audit-log?user_id=1`, as)).status).toBe(422)
    }
  })
})

test('it cannot be read without a credential', async () => {
  expect((await panel.get('/audit-log')).status).toBe(401)
  expect((await panel.get('/admin/audit-log')).status).toBe(401)
})

test('it cannot be changed over the API', async () => {
  for (const path of ['/audit-log', '/admin/audit-log']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      expect((await panel.send(method, path, { as: admin })).status).toBe(405)
    }
    expect((await panel.send('DELETE', `${path}/1`, { as: admin })).status).toBe(404)
  }
})

describe('the list', () => {
  test('is filtered by user, action and time', async () => {
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    panel.clock.advance(10)
    const from = new Date(panel.clock.now()).toISOString()
    await panel.post('/sites', bob.token, { domain: 'filter.example' })
    panel.clock.advance(10)
    const to = new Date(panel.clock.now()).toISOString()
    await panel.post('/sites', bob.token, { domain: 'filter2.example' })
    const domains = async (query: string) => (await log(query)).map(({ details }) => details.domain)
    const user = `user_id=${bob.id}`
    expect(await domains(`?${user}&action=site.create`)).toEqual(['filter2.example', 'filter.example'])
    expect(await domains(`?${user}&from=${from}&to=${to}`)).toEqual(['filter.example'])
    expect(await domains(`?${user}&from=${encodeURIComponent(to.replace('Z', '+00:00'))}`)).toEqual(['filter2.example'])
    expect(await domains(`?${user}&action=site.delete`)).toEqual([])
    expect(await log('?user_id=999999')).toEqual([])
    expect((await ownLog(bob.token, `?action=site.create&to=${to}`)).length).toBe(1)
  })

  test('comes in pages that keep the filter, and misses nothing written in between', async () => {
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    for (let i = 0; i < 5; i++) await panel.post('/sites', bob.token, { domain: `page${i}.example` })
    const domains: unknown[] = []
    let next: string | undefined = `/api/v1/audit-log?action=site.create&limit=2`
    while (next !== undefined) {
      const page: Answer<Entry[]> = await panel.get<Entry[]>(next, bob.token)
      domains.push(...page.data.map(({ details }) => details.domain))
      next = /^<(.+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1]
      if (domains.length === 2) await panel.post('/sites', bob.token, { domain: 'page-late.example' })
    }
    expect(domains).toEqual([4, 3, 2, 1, 0].map((i) => `page${i}.example`))
  })

  test.each([
    ['limit=0', 422],
    ['limit=x', 400],
    ['action=site', 422],
    ['action=', 422],
    ['from=yesterday', 422],
    ['to=2026-02-30T00:00:00Z', 422],
    ['from=2026-01-01', 422],
    ['cursor=made-up', 422],
    ['since=2026-01-01T00:00:00Z', 422],
    ['action=site.create&action=site.delete', 400],
    ['user_id=abc', 400],
  ])('with ?%s is refused', async (query, status) => {
    expect((await panel.get(`/admin/audit-log?${query}`, admin)).status).toBe(status)
  })

  test('explains how to send an offset whose plus became a space', async () => {
    const { status, message } = await panel.get('/admin/audit-log?from=2026-01-01T00:00:00+01:00', admin)
    expect([status, message]).toEqual([
      422,
      'from: must be an RFC 3339 date-time with an offset, such as 2027-12-31T23:59:59Z; in a URL, write the + of an offset as %2B',
    ])
    expect((await panel.get('/admin/audit-log?from=2026-01-01T00:00:00%2B01:00', admin)).status).toBe(200)
  })
})
