/** Many at once: nothing is miscounted or given twice, and no request fails because of another one's lock. */
import { describe, expect, test } from 'bun:test'
import { storedRows } from '../harness/database.ts'
import { createTestLog } from '../harness/log.ts'
import { type Answer, PASSWORD, startPanel, usePanel } from '../harness/panel.ts'

const log = createTestLog()
const panel = await usePanel({}, log)
const ada = await panel.customer()
await panel.subscription(ada.id)
const admin = (await panel.customer('admin')).token

const atOnce = <Result>(count: number, send: (i: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, i) => send(i)))
const count = (answers: Answer[], status: number) => answers.filter((answer) => answer.status === status).length

/** @see ovumcy#155, profilarr#519, cachet#4620: a lock that was busy for a moment became a 500 */
test('200 mixed readers and writers at once get no 500, and lose no write', async () => {
  const before = storedRows(panel).api_keys?.length ?? 0
  const answers = await atOnce(200, (i) => {
    switch (i % 5) {
      case 0:
        return panel.post('/auth/api-keys', ada.token, { name: `key ${i}` })
      case 1:
        return panel.post('/sites', ada.token, { domain: `race${i}.example` })
      case 2:
        return panel.get('/sites', ada.token)
      case 3:
        return panel.get('/auth/api-keys', ada.token)
      default:
        return panel.patch('/admin/settings', admin, { jwt_ttl_seconds: 3600 + i })
    }
  })
  expect([count(answers, 200), count(answers, 201)]).toEqual([120, 80])
  expect(storedRows(panel).api_keys).toHaveLength(before + 40)
  expect(storedRows(panel).sites).toHaveLength(40)
  expect(log.lines.filter(({ msg }) => msg === 'unexpected error')).toEqual([])
})

/** @see ASVS V15.4.1 */
test('a limit counts a thousand parallel requests exactly', async () => {
  const limited = await startPanel({ limitUser: 300 })
  try {
    const bob = await limited.customer()
    limited.clock.advance(120)
    const answers = await atOnce(1000, () => limited.get('/auth/me', bob.token))
    expect([count(answers, 200), count(answers, 429)]).toEqual([300, 700])
  } finally {
    await limited.stop()
  }
}, 600_000)

/** @see better-auth#8067, #9993: two requests with one proof were both believed */
describe('of requests in parallel', () => {
  test('to end one session, one reports success', async () => {
    const bob = await panel.customer()
    await panel.login(bob.email)
    const { data } = await panel.get<{ id: number; current: boolean }[]>('/auth/sessions', bob.token)
    const other = data.find(({ current }) => !current)
    const answers = await atOnce(10, () => panel.delete(`/auth/sessions/${other?.id}`, bob.token))
    expect([count(answers, 200), count(answers, 404)]).toEqual([1, 9])
  })

  test('to log in while the user is being disabled, none yields a token that works afterwards', async () => {
    const bob = await panel.customer()
    const logins = atOnce(10, () =>
      panel.post<{ token: string } | null>('/auth/login', undefined, { email: bob.email, password: PASSWORD }),
    )
    const disabled = panel.patch(`/admin/users/${bob.id}`, admin, { status: 'disabled' })
    const tokens = (await logins).flatMap(({ data }) => (data ? [data.token] : []))
    expect((await disabled).status).toBe(200)
    for (const token of [...tokens, bob.token]) expect((await panel.get('/auth/me', token)).status).toBe(401)
  })

  test('to log in while the password is being changed, none with the old one yields a token that works afterwards', async () => {
    const bob = await panel.customer()
    const change = { current_password: PASSWORD, new_password: 'an altogether different one' }
    const changed = panel.post('/auth/password', bob.token, change)
    const logins = await atOnce(10, () =>
      panel.post<{ token: string } | null>('/auth/login', undefined, { email: bob.email, password: PASSWORD }),
    )
    expect((await changed).status).toBe(200)
    for (const { data } of logins) {
      if (data) expect((await panel.get('/auth/me', data.token)).status).toBe(401)
    }
  })

  test('with a key that is being deleted, none is served after the deletion was answered', async () => {
    const key = await panel.key(ada.token)
    const [row] = (await panel.get<{ id: number }[]>('/auth/api-keys?limit=1000', ada.token)).data.slice(-1)
    let isDeleted = false
    const served = atOnce(50, async (i) => {
      if (i === 25) {
        await panel.delete(`/auth/api-keys/${row?.id}`, ada.token)
        isDeleted = true
      }
      const sentAfter = isDeleted
      return { sentAfter, status: (await panel.get('/auth/me', key)).status }
    })
    for (const { sentAfter, status } of await served) if (sentAfter) expect(status).toBe(401)
    expect((await panel.get('/auth/me', key)).status).toBe(401)
  })
})
