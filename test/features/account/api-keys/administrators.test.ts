/** A key with scopes must not make itself or its holder an administrator. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { usePanel } from '../../../harness/panel.ts'

type User = { id: number; role: string; status: string }

/** With the two scopes that could. */
let key: string
let invited = 0
const panel = await usePanel()
const admin = await panel.admin()
beforeAll(async () => {
  key = await panel.key(admin, { scopes: ['users:read', 'users:write', 'settings:write'] })
})

const newUser = (role: string) => ({ email: `invited${++invited}@example.com`, name: 'Invited', role })
const invite = async (role: string) => (await panel.post<User>('/admin/users', admin, newUser(role))).data
const userOf = async (id: number) => (await panel.get<User>(`/admin/users/${id}`, admin)).data

const REASON = 'An API key with scopes may not'
const REMEDY = 'use one without scopes, or log in'

describe('a key with scopes', () => {
  test('creates no administrator', async () => {
    const user = newUser('admin')
    const answer = await panel.post('/admin/users', key, user)
    expect([answer.status, answer.error, answer.message]).toEqual([
      403,
      'forbidden',
      `${REASON} create an administrator: ${REMEDY}`,
    ])
    expect((await panel.get<User[]>(`/admin/users?email=${user.email}`, admin)).data).toEqual([])
  })

  test('promotes no user to administrator', async () => {
    const { id } = await panel.customer()
    const answer = await panel.patch(`/admin/users/${id}`, key, { role: 'admin' })
    expect([answer.status, answer.message]).toEqual([403, `${REASON} make a user an administrator: ${REMEDY}`])
    expect((await userOf(id)).role).toBe('customer')
  })

  test.each([{ role: 'customer' }, { status: 'disabled' }, { name: 'Renamed' }, {}])(
    'does not change an administrator to %j',
    async (changes) => {
      const { id } = await panel.customer('admin')
      const before = await userOf(id)
      const answer = await panel.patch(`/admin/users/${id}`, key, changes)
      expect([answer.status, answer.message]).toEqual([403, `${REASON} change an administrator: ${REMEDY}`])
      expect(await userOf(id)).toEqual(before)
    },
  )

  test('cannot log an administrator out, but can log out a customer', async () => {
    const [boss, ada] = [await panel.customer('admin'), await panel.customer()]
    const answer = await panel.delete(`/admin/users/${boss.id}/sessions`, key)
    expect([answer.status, answer.message]).toEqual([403, `${REASON} end the sessions of an administrator: ${REMEDY}`])
    expect((await panel.get('/auth/me', boss.token)).status).toBe(200)
    expect((await panel.delete(`/admin/users/${ada.id}/sessions`, key)).status).toBe(200)
  })

  test('does not delete an administrator', async () => {
    const { id } = await panel.customer('admin')
    const answer = await panel.delete(`/admin/users/${id}`, key)
    expect([answer.status, answer.message]).toEqual([403, `${REASON} delete an administrator: ${REMEDY}`])
    expect((await userOf(id)).id).toBe(id)
  })

  test('gets no activation token for an administrator', async () => {
    const { id } = await invite('admin')
    const answer = await panel.post(`/admin/users/${id}/activation`, key)
    expect([answer.status, answer.message]).toEqual([403, `${REASON} activate an administrator: ${REMEDY}`])
  })

  test.each<[string, unknown]>([
    ['require_2fa', 'nobody'],
    ['require_code_for_api_keys', false],
    ['api_key_self_rotation', true],
  ])('does not change %s', async (name, value) => {
    const answer = await panel.patch('/admin/settings', key, { [name]: value, jwt_ttl_seconds: 60 })
    expect([answer.status, answer.message]).toEqual([403, `${REASON} change ${name}: ${REMEDY}`])
    const { data } = await panel.get<{ jwt_ttl_seconds: number }>('/admin/settings', admin)
    expect(data.jwt_ttl_seconds).toBe(86_400)
  })

  test('can do the rest: manage customers and other settings', async () => {
    const user = newUser('customer')
    const { status, data } = await panel.post<User>('/admin/users', key, user)
    expect(status).toBe(201)
    expect((await panel.post(`/admin/users/${data.id}/activation`, key)).status).toBe(200)
    const changes = { status: 'disabled', role: 'customer' }
    expect((await panel.patch<User>(`/admin/users/${data.id}`, key, changes)).data).toMatchObject(changes)
    expect((await panel.delete(`/admin/users/${data.id}`, key)).status).toBe(200)
    expect((await panel.patch('/admin/settings', key, { backup_keep: 8 })).status).toBe(200)
  })
})

test('a key without scopes can do all of it, even when limited to its addresses', async () => {
  const full = await panel.key(admin, { allowed_cidrs: ['127.0.0.0/8'] })
  const { id } = (await panel.post<User>('/admin/users', full, newUser('admin'))).data
  expect((await panel.post(`/admin/users/${id}/activation`, full)).status).toBe(200)
  expect((await panel.patch(`/admin/users/${id}`, full, { role: 'customer' })).status).toBe(200)
  expect((await panel.patch(`/admin/users/${id}`, full, { role: 'admin' })).status).toBe(200)
  expect((await panel.delete(`/admin/users/${id}`, full)).status).toBe(200)
  expect((await panel.patch('/admin/settings', full, { require_2fa: 'nobody' })).status).toBe(200)
})
