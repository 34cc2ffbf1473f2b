/** Changing one's password. Activation, the other way to set one, is tested with the users. */
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { PASSWORD, usePanel } from '../../harness/panel.ts'

const NEW_PASSWORD = 'an altogether different one'

const panel = await usePanel()

const change = (token: string | undefined, current_password: string, new_password: string) =>
  panel.post('/auth/password', token, { current_password, new_password })

const WITH_ADDITIONS =
  'is a common password with something added, which attackers try too; use several words, or let a password manager make one'

describe('a password change', () => {
  test('ends the other sessions, keeps this one and the API keys', async () => {
    const ada = await panel.customer()
    const [other, key] = [await panel.login(ada.email), await panel.key(ada.token)]
    const answer = await change(ada.token, PASSWORD, NEW_PASSWORD)
    expect([answer.status, answer.data, answer.message]).toEqual([200, null, 'Password changed'])
    expect((await panel.get('/auth/me', ada.token)).status).toBe(200)
    expect((await panel.get('/auth/me', other)).status).toBe(401)
    expect((await panel.get('/auth/me', key)).status).toBe(200)
    const old = await panel.post('/auth/login', undefined, { email: ada.email, password: PASSWORD })
    expect(old.status).toBe(401)
    expect(await panel.login(ada.email, NEW_PASSWORD)).toBeString()
  })

  test('succeeds once of two in parallel', async () => {
    const ada = await panel.customer()
    const { passwords } = panel.services
    const { hash } = passwords
    // Both have shown the password before either has changed it.
    let arrived = 0
    const both = Promise.withResolvers<void>()
    passwords.hash = async (password) => {
      if (++arrived === 2) both.resolve()
      await both.promise
      return hash(password)
    }
    const answers = await Promise.all([
      change(ada.token, PASSWORD, 'the first of the two'),
      change(ada.token, PASSWORD, 'the second of the two'),
    ])
    passwords.hash = hash
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test('requires the current password', async () => {
    const ada = await panel.customer()
    for (const wrong of ['wrong password', '']) {
      const answer = await change(ada.token, wrong, NEW_PASSWORD)
      expect([answer.status, answer.error]).toEqual([401, 'invalid credentials'])
    }
    expect(await panel.login(ada.email)).toBeString()
  })

  test.each([
    ['seven77', 'must be 8 to 256 characters'],
    ['x'.repeat(257), 'must be 8 to 256 characters'],
    ['Password1', 'is one of the most used passwords, which attackers try first'],
    ['87654321', 'is one of the most used passwords, which attackers try first'],
    ['00000000', 'is one of the most used passwords, which attackers try first'],
    ['abcabcabc', 'is one of the most used passwords, which attackers try first'],
    ['abcdefgh', 'is one of the most used passwords, which attackers try first'],
    ['LocalhostNcp', 'must not be made of your email address, the name of this server or of this product'],
    ['qwertyuiop', 'is one of the most used passwords, which attackers try first'],
    ['password123456', WITH_ADDITIONS],
    ['Password1!', WITH_ADDITIONS],
    ['P@ssw0rd2024!', WITH_ADDITIONS],
    ['$ummer2023', WITH_ADDITIONS],
    ['dragondragon', WITH_ADDITIONS],
    ['1234dragon', WITH_ADDITIONS],
    ['!!qwerty!!', WITH_ADDITIONS],
    ['ncp-ncp+ncp', 'must not be made of your email address, the name of this server or of this product'],
  ])('refuses %j with the reason', async (password, rule) => {
    const ada = await panel.customer()
    const answer = await change(ada.token, PASSWORD, password)
    expect([answer.status, answer.message]).toEqual([422, `new_password: ${rule}`])
  })

  test('refuses the current password as the new one', async () => {
    const ada = await panel.customer()
    const answer = await change(ada.token, PASSWORD, PASSWORD)
    expect([answer.status, answer.message]).toEqual([422, 'new_password: must not be the current one'])
  })

  test('refuses a password derived from the email', async () => {
    const ada = await panel.customer()
    const answer = await change(ada.token, PASSWORD, `${ada.email.split('@')[0]}99`)
    expect(answer.status).toBe(422)
  })

  test.each([
    'eight8!x',
    'x'.repeat(20).concat(' '.repeat(44)),
    '😀🚀🌍🔑🎉🐧🍕🚲',
    `${'é'.repeat(255)}!`,
    '$ | ; & \' " \\ % { } < >',
  ])('accepts %j, since there are no composition rules', async (password) => {
    const ada = await panel.customer()
    expect((await change(ada.token, PASSWORD, password)).status).toBe(200)
    expect(await panel.login(ada.email, password)).toBeString()
  })

  test('requires a JWT', async () => {
    const ada = await panel.customer()
    expect((await change(undefined, PASSWORD, NEW_PASSWORD)).status).toBe(401)
    expect((await change(await panel.key(ada.token), PASSWORD, NEW_PASSWORD)).status).toBe(403)
  })

  test('of the initial administrator, and of no other user, removes the file with the initial password', async () => {
    const [ada, file] = [await panel.customer(), `${panel.data}/initial-admin-password`]
    const [admin, first] = [await panel.admin(), panel.adminPassword()]
    await change(ada.token, PASSWORD, NEW_PASSWORD)
    expect(existsSync(file)).toBeTrue()
    expect((await change(admin, first, NEW_PASSWORD)).status).toBe(200)
    expect(existsSync(file)).toBeFalse()
  })
})
