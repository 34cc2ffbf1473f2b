/** A customer who changes things all day fills no disk: beyond a budget, entries are summed up, and nothing is lost. */
import { beforeAll, expect, test } from 'bun:test'
import { verifyChain } from '../../../../src/features/operation/audit/verify.ts'
import { PASSWORD, usePanel } from '../../../harness/panel.ts'

type Entry = { action: string; times: number; details: Record<string, unknown>; actor_id: number; address: string }

const CHANGES = 1500

const panel = await usePanel()
const ada = await panel.customer()
await panel.subscription(ada.id)
const siteId = (await panel.post<{ id: number }>('/sites', ada.token, { domain: 'ada.example' })).data.id
beforeAll(async () => {
  for (let i = 0; i < CHANGES; i++) await changeSite(i, ada.token)
}, 600_000)

const changeSite = (i: number, as: string) =>
  panel.patch(`/sites/${siteId}`, as, { public_dir: i % 2 === 0 ? 'a' : 'b' })
const entries = async (action: string, as: string) =>
  (await panel.get<Entry[]>(`/audit-log?action=${action}&limit=1000`, as)).data

test('each change is recorded or counted, with who did it, from where, and when', async () => {
  panel.clock.advance(3600)
  await panel.services.auditSums.flush()
  const [sum] = await entries('site.change', ada.token)
  expect(sum).toMatchObject({ actor_id: ada.id, address: '127.0.0.1' })
  expect(sum?.details).toMatchObject({ first_target_id: siteId, last_target_id: siteId })
  let counted = 0
  let next: string | undefined = '/api/v1/audit-log?action=site.change&limit=1000'
  while (next !== undefined) {
    const page: Awaited<ReturnType<typeof panel.get<Entry[]>>> = await panel.get<Entry[]>(next, ada.token)
    counted += page.data.reduce((total, { times }) => total + times, 0)
    next = /^<(.+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1]
  }
  expect(counted).toBe(CHANGES)
  expect(Number(sum?.times)).toBeGreaterThan(100)
  expect(await verifyChain(panel.services.store)).toMatchObject({ valid: true })
})

test('a customer’s changes to keys are still recorded one by one, and so are an administrator’s', async () => {
  await panel.post('/auth/api-keys', ada.token, { name: 'Hidden' })
  expect((await entries('api_key.create', ada.token))[0]).toMatchObject({ times: 1, details: { name: 'Hidden' } })
  await changeSite(0, await panel.admin())
  const [newest] = (await panel.services.auditLog.list({ limit: 1, afterId: 0 })).rows
  expect(newest).toMatchObject({ action: 'site.change', times: 1, accountId: ada.id, actorId: 1 })
})

test('another customer has a separate budget', async () => {
  const bob = await panel.customer()
  await panel.subscription(bob.id)
  await panel.post('/sites', bob.token, { domain: 'bob.example' })
  expect(await entries('site.create', bob.token)).toMatchObject([{ times: 1, details: { domain: 'bob.example' } }])
})

test('actions that need only a password are summed up too, and the others recorded', async () => {
  const eve = await panel.customer()
  for (let i = 0; i < 180; i++) {
    expect((await panel.post('/auth/2fa/setup', eve.token, { password: PASSWORD })).status).toBe(200)
  }
  const told = (await entries('auth.two_factor_setup', eve.token)).length
  expect(told).toBeLessThan(180)
  await panel.post('/auth/api-keys', eve.token, { name: 'Hidden' })
  expect(await entries('api_key.create', eve.token)).toMatchObject([{ times: 1, details: { name: 'Hidden' } }])
  panel.clock.advance(3600)
  await panel.services.auditSums.flush()
  const [sum] = await entries('auth.two_factor_setup', eve.token)
  expect(sum).toMatchObject({ times: 180 - told, actor_id: eve.id })
}, 600_000)

test('the next day starts a new budget', async () => {
  panel.clock.advance(86_400)
  const token = await panel.login(ada.email)
  await changeSite(1, token)
  expect((await entries('site.change', token))[0]).toMatchObject({ times: 1, details: { public_dir: 'b' } })
})
