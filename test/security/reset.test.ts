/** Password reset as a way in: whose password a token sets, what the steps are worth out of order, what a restart keeps. */
import { describe, expect, test } from 'bun:test'
import { storedRows } from '../harness/database.ts'
import { useMailingPanel } from '../harness/mailing-panel.ts'
import { type Customer, PASSWORD } from '../harness/panel.ts'

const NEW_PASSWORD = 'an altogether different one'

const panel = await useMailingPanel()

async function tokenOf({ email }: Customer): Promise<string> {
  panel.clock.advance(60)
  await panel.post('/auth/password-reset', undefined, { email })
  const mail = (await panel.emailsTo(email)).findLast(({ subject }) => subject === 'Set a new password')
  return /#token=([\w-]{43})$/m.exec(mail?.text ?? '')?.[1] ?? 'no mail'
}

const confirm = (body: object) => panel.post('/auth/password-reset/confirm', undefined, body)
const login = ({ email }: Customer, password: string) => panel.post('/auth/login', undefined, { email, password })

/** @see CVE-2026-18963, keycloak#51833: the step with the email could be left out, or taken with another's token */
describe('the confirmation of a reset', () => {
  test('sets the password of the email’s recipient, and of no user named beside the token', async () => {
    const [ada, bob] = [await panel.customer(), await panel.customer()]
    const token = await tokenOf(bob)
    for (const named of [{ email: ada.email }, { user_id: ada.id }, { id: ada.id }, { username: ada.email }]) {
      expect((await confirm({ token, password: NEW_PASSWORD, ...named })).status).toBe(422)
    }
    expect((await confirm({ token, password: NEW_PASSWORD })).status).toBe(200)
    expect([(await login(ada, NEW_PASSWORD)).status, (await login(bob, NEW_PASSWORD)).status]).toEqual([401, 200])
    expect((await login(ada, PASSWORD)).status).toBe(200)
  })

  test('does nothing without a prior request, whatever is sent as the token', async () => {
    const ada = await panel.customer()
    const before = storedRows(panel, { except: ['jobs'] })
    for (const token of [
      '',
      ' ',
      'null',
      'undefined',
      '0',
      '%',
      '_'.repeat(43),
      'A'.repeat(43),
      ada.token.slice(0, 128),
    ]) {
      expect([token, (await confirm({ token, password: NEW_PASSWORD })).status]).toEqual([token, 422])
    }
    for (const token of [null, true, 0, [], {}, { $ne: '' }]) {
      expect((await confirm({ token, password: NEW_PASSWORD })).status).toBe(400)
    }
    expect(storedRows(panel, { except: ['jobs'] })).toEqual(before)
  })

  test('requires the exact token: not in another case, not with a space, not a part of it', async () => {
    const ada = await panel.customer()
    const token = await tokenOf(ada)
    for (const other of [
      token.toUpperCase(),
      token.toLowerCase(),
      ` ${token}`,
      `${token} `,
      `${token}=`,
      token.slice(0, -1),
    ]) {
      expect((await confirm({ token: other, password: NEW_PASSWORD })).status).toBe(422)
    }
    expect((await confirm({ token, password: NEW_PASSWORD })).status).toBe(200)
  })

  /** @see flask-security#258, LemmyNet#3714, gumroad#4065, Pterodactyl 0.7.9: a reset logged in, around the second factor */
  test('returns no JWT and sets no cookie', async () => {
    const ada = await panel.customer()
    const answer = await confirm({ token: await tokenOf(ada), password: NEW_PASSWORD })
    expect([answer.status, answer.data, answer.headers.get('set-cookie')]).toEqual([200, null, null])
  })
})

/** @see own-pay#298, veritas-kanban#597, mastodon#12928: anyone who was logged in stayed in */
test('a reset ends everything a thief of the session could still do, even a password change by that session', async () => {
  const ada = await panel.customer()
  const stolen = await panel.login(ada.email)
  await confirm({ token: await tokenOf(ada), password: NEW_PASSWORD })
  const body = { current_password: NEW_PASSWORD, new_password: 'one that the thief would like' }
  expect((await panel.post('/auth/password', stolen, body)).status).toBe(401)
  expect((await panel.post('/auth/api-keys', stolen, { name: 'x' })).status).toBe(401)
  expect((await panel.post('/auth/2fa/setup', stolen, { password: NEW_PASSWORD })).status).toBe(401)
})
