/** Section 4 of the contract to the letter, for a user with two-factor authentication: after the login, a JWT is enough. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { type Enrolled, enrol } from '../../../harness/authenticator.ts'
import { failuresOf } from '../../../harness/database.ts'
import { PASSWORD, usePanel } from '../../../harness/panel.ts'

type Created = { id: number; key: string; key_prefix: string; expires_at: string | null }

let app: Enrolled
const panel = await usePanel()
const ada = await panel.customer()
await panel.subscription(ada.id)
beforeAll(async () => {
  app = await enrol(panel, ada.token)
})

/** As the contract has it: email, password and, once it is asked for, the code. */
async function logIn(): Promise<string> {
  const proof = { email: ada.email, password: PASSWORD }
  const asked = await panel.post('/auth/login', undefined, proof)
  expect([asked.data, asked.error, asked.message]).toEqual([
    null,
    '2fa_required',
    'Two-factor authentication code required',
  ])
  const answer = await panel.post<{ token: string }>('/auth/login', undefined, { ...proof, totp_code: app.freshCode() })
  expect([answer.status, answer.error, answer.message]).toEqual([200, null, 'Login successful'])
  return answer.data.token
}

describe('a user with two-factor authentication', () => {
  test('logs in, creates a key, lists it, uses it and deletes it, with only the JWT', async () => {
    const token = await logIn()
    const body = { name: 'Deploy', expires_at: '2099-12-31T23:59:59Z' }
    const created = await panel.post<Created>('/auth/api-keys', token, body)
    expect([created.error, created.message]).toEqual([null, 'API key created'])
    const { id, key, ...shown } = created.data
    expect(shown).toEqual({
      name: 'Deploy',
      key_prefix: key.slice(0, 20),
      expires_at: '2099-12-31T23:59:59.000Z',
      created_at: expect.any(String),
    } as never)
    expect((await panel.get('/sites', key)).status).toBe(200)
    const listed = await panel.get('/auth/api-keys', token)
    expect([listed.data, listed.error, listed.message]).toEqual([
      [{ id, ...shown, last_used_at: expect.any(String) }],
      null,
      '',
    ])
    expect((await panel.delete(`/auth/api-keys/${id}`, token)).status).toBe(200)
    expect((await panel.get('/sites', key)).status).toBe(401)
  })

  test('changes and rotates a key with only the JWT, too', async () => {
    const token = await logIn()
    const { id, key } = (await panel.post<Created>('/auth/api-keys', token, { name: 'Deploy' })).data
    const changed = await panel.patch<Created>(`/auth/api-keys/${id}`, token, { expires_at: '2099-01-01T00:00:00Z' })
    expect([changed.status, changed.data.expires_at]).toEqual([200, '2099-01-01T00:00:00.000Z'])
    const rotated = await panel.post<Created>(`/auth/api-keys/${id}/rotate`, token, { grace_seconds: 0 })
    expect(rotated.status).toBe(200)
    expect([(await panel.get('/sites', rotated.data.key)).status, (await panel.get('/sites', key)).status]).toEqual([
      200, 401,
    ])
  })

  test('may still send a code: it is neither checked, counted nor spent', async () => {
    const token = await logIn()
    const totp_code = app.freshCode()
    for (const code of ['000000', totp_code]) {
      const answer = await panel.post('/auth/api-keys', token, { name: 'Deploy', totp_code: code })
      expect(answer.status).toBe(201)
    }
    expect(failuresOf(panel, ada.id)).toBe(0)
    const again = await panel.post('/auth/login', undefined, { email: ada.email, password: PASSWORD, totp_code })
    expect(again.status).toBe(200)
  })

  test('is asked for a code only while an administrator’s setting requires one', async () => {
    const token = await logIn()
    const admin = await panel.admin()
    const create = (more = {}) => panel.post('/auth/api-keys', token, { name: 'Deploy', ...more })
    await panel.patch('/admin/settings', admin, { require_code_for_api_keys: true })
    expect((await create()).error).toBe('2fa_required')
    expect((await create({ totp_code: app.freshCode() })).status).toBe(201)
    await panel.patch('/admin/settings', await panel.admin(), { require_code_for_api_keys: false })
    expect((await create()).status).toBe(201)
  })
})
