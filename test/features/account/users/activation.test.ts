/** A new user's way in: the token in the response, the same by email, and a new one when it was lost. */
import { describe, expect, test } from 'bun:test'
import { useMailingPanel } from '../../../harness/mailing-panel.ts'
import { PASSWORD, startPanel } from '../../../harness/panel.ts'

type Activation = { token: string; expires_at: string }
type Invited = { id: number; email: string; activation: Activation }

const LINK = /^https:\/\/panel\.example\.com\/activate#token=([\w-]{43})$/m
const DAY_SECONDS = 86_400

let invitations = 0
const panel = await useMailingPanel()

async function invite(role = 'customer'): Promise<Invited> {
  const body = { email: `invited${++invitations}@example.com`, name: '{{7*7}}', role }
  const answer = await panel.post<Invited>('/admin/users', await panel.admin(), body)
  expect(answer.status).toBe(201)
  return answer.data
}
const renew = async (id: number | string) =>
  panel.post<Activation>(`/admin/users/${id}/activation`, await panel.admin())
const activate = (token: string) => panel.post('/auth/password-reset/confirm', undefined, { token, password: PASSWORD })

describe('an invitation', () => {
  test('is emailed to the user, with the token that the administrator sees too', async () => {
    const { email, activation } = await invite()
    const [mail, ...others] = await panel.emailsTo(email)
    expect(others).toEqual([])
    expect([mail?.recipients, mail?.subject]).toEqual([[email], 'Your new account'])
    expect(LINK.exec(mail?.text ?? '')?.[1]).toBe(activation.token)
    // It contains nothing that was typed in, except the address.
    expect(mail?.text).not.toMatch(/7\*7|49/)
    expect((await activate(activation.token)).status).toBe(200)
    expect(await panel.login(email)).toBeTruthy()
  })

  test('is no longer emailed once it has expired', async () => {
    const { email } = await invite()
    panel.clock.advance(DAY_SECONDS)
    expect(await panel.emailsTo(email)).toEqual([])
  })

  test('is only in the response where no mail server is configured', async () => {
    const own = await startPanel()
    const body = { email: 'new@example.com', name: 'New', role: 'customer' }
    const { data } = await own.post<Invited>('/admin/users', await own.admin(), body)
    const confirm = { token: data.activation.token, password: PASSWORD }
    expect((await own.post('/auth/password-reset/confirm', undefined, confirm)).status).toBe(200)
    await own.stop()
  })
})

describe('a new invitation', () => {
  test('voids the previous one, and is emailed as well', async () => {
    const { id, email, activation } = await invite()
    panel.clock.advance(2 * DAY_SECONDS)
    const answer = await renew(id)
    expect([answer.status, answer.message]).toEqual([200, 'Activation renewed'])
    expect(Date.parse(answer.data.expires_at)).toBe(panel.clock.now() + DAY_SECONDS * 1000)
    expect(LINK.exec((await panel.emailsTo(email)).at(-1)?.text ?? '')?.[1]).toBe(answer.data.token)
    expect((await activate(activation.token)).status).toBe(422)
    expect((await activate(answer.data.token)).status).toBe(200)
  })

  test('is void once the user has become an administrator: it was meant for lesser rights', async () => {
    const { id, activation } = await invite()
    await panel.patch(`/admin/users/${id}`, await panel.admin(), { role: 'admin' })
    expect((await activate(activation.token)).status).toBe(422)
    expect((await activate((await renew(id)).data.token)).status).toBe(200)
  })

  test('works once, even in ten parallel requests', async () => {
    const { id } = await invite()
    const { token } = (await renew(id)).data
    const answers = await Promise.all(Array.from({ length: 10 }, () => activate(token)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(422)])
  })

  test('is not for a user who has a password, is disabled, or does not exist', async () => {
    const { id } = await panel.customer()
    expect(await renew(id)).toMatchObject({ status: 409, error: 'conflict' })
    const other = await invite()
    await panel.patch(`/admin/users/${other.id}`, await panel.admin(), { status: 'disabled' })
    expect((await renew(other.id)).status).toBe(409)
    expect((await renew(999_999)).status).toBe(404)
    expect((await renew('abc')).status).toBe(400)
  })

  test('is issued only by administrators', async () => {
    const { id } = await invite()
    const { token } = await panel.customer()
    expect((await panel.post(`/admin/users/${id}/activation`, token)).status).toBe(403)
    expect((await panel.post(`/admin/users/${id}/activation`, undefined)).status).toBe(401)
  })
})
