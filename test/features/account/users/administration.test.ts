/** What an administrator does about users beside making them: find, log out, delete, and hand over what they have. */
import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { startPanel, usePanel } from '../../../harness/panel.ts'

const panel = await usePanel()

type Row = { id: number }
type Subscription = Row & { user_id: number; is_default: boolean; name: string }

const createSite = (token: string, domain: string) => panel.post<Row>('/sites', token, { domain })
const ids = (rows: Row[]) => rows.map(({ id }) => id)

describe('a search', () => {
  test('finds users by part of their email, their role and their status', async () => {
    const admin = await panel.admin()
    const make = (email: string, role = 'customer') =>
      panel.post<Row>('/admin/users', admin, { email, name: 'Searched', role })
    const ada = (await make('ada@search.example')).data.id
    const bob = (await make('bob@search.example', 'admin')).data.id
    await panel.patch(`/admin/users/${ada}`, admin, { status: 'disabled' })
    const search = async (query: string) => ids((await panel.get<Row[]>(`/admin/users?${query}`, admin)).data)
    expect(await search('email=%40search.example')).toEqual([ada, bob])
    expect(await search('email=ADA@SEARCH')).toEqual([ada])
    expect(await search('email=@search&role=admin')).toEqual([bob])
    expect(await search('email=@search&status=disabled')).toEqual([ada])
    for (const literal of ['%25', '_', '*', "' OR 1=1--", '\\']) {
      expect(await search(`email=${literal === '%25' ? literal : encodeURIComponent(literal)}`)).toEqual([])
    }
  })

  test('finds users by part of their name, in any case', async () => {
    const admin = await panel.admin()
    const make = async (name: string) => {
      const email = `${Bun.randomUUIDv7()}@named.example`
      return (await panel.post<Row>('/admin/users', admin, { email, name, role: 'customer' })).data.id
    }
    const [ada, erika, percent] = [await make('Ada Lovelace'), await make('Erika Müller'), await make('100% O_o')]
    const search = async (name: string) =>
      ids((await panel.get<Row[]>(`/admin/users?email=@named&name=${encodeURIComponent(name)}`, admin)).data)
    expect(await search('lovel')).toEqual([ada])
    expect(await search('A L')).toEqual([ada])
    expect(await search('müller')).toEqual([erika])
    for (const literal of ['100% ', 'O_O']) expect(await search(literal)).toEqual([percent])
    for (const nobody of ['ada%', 'Ad_', '*', "' OR 1=1--", 'Charles']) expect(await search(nobody)).toEqual([])
  })

  test.each([
    ['role=root', 422, 'role: must be one of admin, customer'],
    ['status=gone', 422, 'status: must be one of active, disabled'],
    ['email=', 422, 'email: must be 1 to 254 characters'],
    ['name=', 422, 'name: must be 1 to 100 characters'],
    [`name=${'x'.repeat(101)}`, 422, 'name: must be 1 to 100 characters'],
    ['mail=x', 422, 'mail: is not a known field'],
  ])('by %s is %i', async (query, status, message) => {
    const answer = await panel.get(`/admin/users?${query}`, await panel.admin())
    expect([answer.status, answer.message]).toEqual([status, message])
  })

  test('finds sites by part of a domain or an alias, among the visible ones', async () => {
    const [ada, bob] = [await panel.customer(), await panel.customer()]
    await panel.subscription(ada.id)
    await panel.subscription(bob.id)
    const first = (
      await panel.post<Row>('/sites', ada.token, { domain: 'münchen.example', aliases: ['shop.needle.example'] })
    ).data.id
    await createSite(ada.token, 'other.example')
    const second = (await createSite(bob.token, 'www.needle.example')).data.id
    const search = async (as: string, query: string) => ids((await panel.get<Row[]>(`/sites?${query}`, as)).data)
    expect(await search(ada.token, 'domain=needle')).toEqual([first])
    expect(await search(ada.token, 'domain=NEEDLE.example')).toEqual([first])
    expect(await search(ada.token, `domain=${encodeURIComponent('münchen.example')}`)).toEqual([first])
    expect(await search(ada.token, 'domain=%25')).toEqual([])
    expect(await search(await panel.admin(), 'domain=needle')).toEqual([first, second])
  })

  test('keeps its words in the link to the next page', async () => {
    const admin = await panel.admin()
    const found: number[] = []
    let path: string | undefined = '/api/v1/admin/users?email=customer&limit=1'
    while (path !== undefined) {
      const { data, headers }: { data: Row[]; headers: Headers } = await panel.get<Row[]>(path, admin)
      found.push(...ids(data))
      path = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
    }
    const all = ids((await panel.get<Row[]>('/admin/users?email=customer', admin)).data)
    expect(found).toEqual(all)
    expect(all.length).toBeGreaterThan(1)
  })
})

describe('the sessions of a user', () => {
  test('are listed and ended by an administrator; the keys stay', async () => {
    const [admin, ada] = [await panel.admin(), await panel.customer()]
    const key = await panel.key(ada.token)
    const list = await panel.get<{ current: boolean; address: string }[]>(`/admin/users/${ada.id}/sessions`, admin)
    expect(list.data).toMatchObject([{ current: false, address: '127.0.0.1' }])
    const ended = await panel.delete(`/admin/users/${ada.id}/sessions`, admin)
    expect([ended.status, ended.data, ended.message]).toEqual([200, null, 'Sessions ended'])
    expect((await panel.get('/auth/me', ada.token)).status).toBe(401)
    expect((await panel.get('/auth/me', key)).status).toBe(200)
    expect((await panel.get<unknown[]>(`/admin/users/${ada.id}/sessions`, admin)).data).toEqual([])
  })

  test('are ended one by one as well, and none of another user by mistake', async () => {
    const [ada, bob] = [await panel.customer(), await panel.customer()]
    const [admin, other] = [await panel.admin(), await panel.login(ada.email)]
    const path = `/admin/users/${ada.id}/sessions`
    const [first] = (await panel.get<{ id: number }[]>(path, admin)).data
    expect((await panel.delete(`/admin/users/${bob.id}/sessions/${first?.id}`, admin)).status).toBe(404)
    expect((await panel.delete(`${path}/999999`, admin)).status).toBe(404)
    expect((await panel.delete(`${path}/abc`, admin)).status).toBe(400)
    expect((await panel.get('/auth/me', ada.token)).status).toBe(200)
    expect((await panel.delete(`${path}/${first?.id}`, admin)).message).toBe('Session ended')
    expect((await panel.get('/auth/me', ada.token)).status).toBe(401)
    expect((await panel.get('/auth/me', other)).status).toBe(200)
  })
})

describe('a deleted user', () => {
  test('is gone with everything, at once', async () => {
    const [admin, ada] = [await panel.admin(), await panel.customer()]
    await panel.subscription(ada.id)
    const { id } = (await createSite(ada.token, 'deleted.example')).data
    const key = await panel.key(ada.token)
    const answer = await panel.delete(`/admin/users/${ada.id}`, admin)
    expect([answer.status, answer.data, answer.message]).toEqual([200, null, 'User deleted'])
    for (const credential of [ada.token, key]) expect((await panel.get('/auth/me', credential)).status).toBe(401)
    expect((await panel.get(`/admin/users/${ada.id}`, admin)).status).toBe(404)
    expect((await panel.get(`/sites/${id}`, admin)).status).toBe(404)
    expect((await panel.delete(`/admin/users/${ada.id}`, admin)).status).toBe(404)
    using database = new Database(`${panel.data}/ncp.db`)
    for (const table of [
      'sessions',
      'api_keys',
      'subscriptions',
      'allowances',
      'known_addresses',
      'recovery_codes',
      'password_tokens',
    ]) {
      expect(database.query(`SELECT * FROM ${table} WHERE user_id = ?`).all(ada.id)).toEqual([])
    }
    expect(database.query('PRAGMA foreign_key_check').all()).toEqual([])
    // The domain is free again.
    const bob = await panel.customer()
    await panel.subscription(bob.id)
    expect((await createSite(bob.token, 'deleted.example')).status).toBe(201)
  })

  test('is never confused with the next user: no id, token or key is reused', async () => {
    const [admin, ada] = [await panel.admin(), await panel.customer()]
    const key = await panel.key(ada.token)
    await panel.delete(`/admin/users/${ada.id}`, admin)
    const next = await panel.customer()
    expect(next.id).toBeGreaterThan(ada.id)
    for (const credential of [ada.token, key]) expect((await panel.get('/auth/me', credential)).status).toBe(401)
  })

  test('cannot be the last active administrator', async () => {
    const own = await startPanel()
    try {
      const answer = await own.delete('/admin/users/1', await own.admin())
      expect([answer.status, answer.error]).toEqual([409, 'conflict'])
      const other = await own.customer('admin')
      const both = await Promise.all([
        own.delete('/admin/users/1', other.token),
        own.delete(`/admin/users/${other.id}`, await own.admin()),
      ])
      expect(both.filter(({ status }) => status === 200)).toHaveLength(1)
    } finally {
      await own.stop()
    }
  })
})

describe('a subscription given to another user', () => {
  test('goes with its sites, and leaves both users with one default', async () => {
    const [admin, ada, bob] = [await panel.admin(), await panel.customer(), await panel.customer()]
    const [moved, left] = [await panel.subscription(ada.id), await panel.subscription(ada.id)]
    const bobs = await panel.subscription(bob.id)
    const { id } = (await createSite(ada.token, 'moving.example')).data
    const answer = await panel.patch<Subscription>(`/admin/subscriptions/${moved}`, admin, { user_id: bob.id })
    expect(answer.data).toMatchObject({ id: moved, user_id: bob.id, is_default: false })
    expect((await panel.get(`/sites/${id}`, ada.token)).status).toBe(403)
    expect((await panel.get(`/sites/${id}`, bob.token)).status).toBe(200)
    const defaults = async (token: string) =>
      (await panel.get<Subscription[]>('/subscriptions', token)).data
        .filter((row) => row.is_default)
        .map(({ id }) => id)
    expect(await defaults(ada.token)).toEqual([left])
    expect(await defaults(bob.token)).toEqual([bobs])
    await panel.patch(`/admin/subscriptions/${left}`, admin, { user_id: bob.id, is_default: true })
    expect(await defaults(bob.token)).toEqual([left])
    expect(await defaults(ada.token)).toEqual([])
    expect((await panel.get('/sites', ada.token)).status).toBe(404)
  })

  test('becomes the default of a user who had none', async () => {
    const [admin, ada, bob] = [await panel.admin(), await panel.customer(), await panel.customer()]
    const id = await panel.subscription(ada.id)
    const answer = await panel.patch<Subscription>(`/admin/subscriptions/${id}`, admin, { user_id: bob.id })
    expect(answer.data.is_default).toBeTrue()
  })

  test('stays where it was when the user is unknown', async () => {
    const [admin, ada] = [await panel.admin(), await panel.customer()]
    const id = await panel.subscription(ada.id)
    const answer = await panel.patch(`/admin/subscriptions/${id}`, admin, { user_id: 999_999 })
    expect([answer.status, answer.message]).toEqual([404, 'user_id: no such user'])
    expect((await panel.get<Subscription>(`/admin/subscriptions/${id}`, admin)).data.user_id).toBe(ada.id)
  })
})

test.each([
  ['GET', '/admin/users/1/sessions'],
  ['DELETE', '/admin/users/1/sessions'],
  ['DELETE', '/admin/users/1/sessions/1'],
  ['DELETE', '/admin/users/1'],
])('%s %s is for administrators only', async (method, path) => {
  const ada = await panel.customer()
  expect((await panel.send(method, path)).status).toBe(401)
  expect((await panel.send(method, path, { as: ada.token })).status).toBe(403)
  const unknown = path.replace('/1', '/999999')
  expect((await panel.send(method, unknown, { as: await panel.admin() })).status).toBe(404)
  expect((await panel.send(method, path.replace('/1', '/abc'), { as: await panel.admin() })).status).toBe(400)
})
