/** What a panel remembers is what the database says: two panels on one database, and a fresh one, never differ. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { operator } from '../../../src/core/actor.ts'
import { type Panel, startPanel } from '../../harness/panel.ts'
import { AT_ONCE, fuzz, TEST_TIMEOUT_MS } from './options.ts'

const RUNS = 2
const STEPS = 10

let data: string
/** Both serve; each learns of the other's changes from the database alone. */
let panels: [Panel, Panel]
beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), 'ncp-test-'))
  const first = await startPanel({ data })
  panels = [first, await startPanel({ data })]
})
afterAll(async () => {
  for (const panel of panels) await panel.stop()
  rmSync(data, { recursive: true, force: true })
})

/** A user with a JWT, a key and a restricted key, and what was created for them. */
type World = { admin: string; userId: number; credentials: string[]; subscription: number }

/** What happens to a user, out of which the fuzzer makes histories. */
const EVENTS = {
  makeSite: ({ credentials }, panel, n) => panel.post('/sites', credentials[0], { domain: `s${n}.example` }),
  deleteSite: async ({ credentials, admin, subscription }, panel) => {
    const { data } = await panel.get<{ id: number }[]>(`/sites?subscription_id=${subscription}`, admin)
    await panel.delete(`/sites/${data?.at(-1)?.id ?? 0}`, credentials[0] ?? '')
  },
  makeSubscription: ({ userId, admin }, panel, n) =>
    panel.post('/admin/subscriptions', admin, { user_id: userId, name: `more ${n}`, is_default: n % 2 === 0 }),
  suspend: ({ subscription, admin }, panel, n) =>
    panel.patch(`/admin/subscriptions/${subscription}`, admin, { status: n % 2 ? 'suspended' : 'active' }),
  handOver: ({ subscription, userId, admin }, panel, n) =>
    panel.patch(`/admin/subscriptions/${subscription}`, admin, { user_id: n % 2 ? 1 : userId }),
  disable: ({ userId, admin }, panel) => panel.patch(`/admin/users/${userId}`, admin, { status: 'disabled' }),
  enable: ({ userId, admin }, panel) => panel.patch(`/admin/users/${userId}`, admin, { status: 'active' }),
  rename: ({ userId, admin }, panel, n) => panel.patch(`/admin/users/${userId}`, admin, { name: `name ${n}` }),
  promote: ({ userId, admin }, panel, n) =>
    panel.patch(`/admin/users/${userId}`, admin, { role: n % 2 ? 'admin' : 'customer' }),
  endSessions: ({ userId, admin }, panel) => panel.delete(`/admin/users/${userId}/sessions`, admin),
  deleteKeys: async ({ credentials }, panel) => {
    const { data } = await panel.get<{ id: number }[] | null>('/auth/api-keys', credentials[0])
    for (const { id } of data ?? []) await panel.delete(`/auth/api-keys/${id}`, credentials[0] ?? '')
  },
  requireTwoFactor: ({ admin }, panel, n) =>
    panel.patch('/admin/settings', admin, { require_2fa: n % 3 === 0 ? 'everyone' : 'nobody' }),
  logout: ({ credentials }, panel) => panel.post('/auth/logout', credentials[0]),
} satisfies Record<string, (world: World, panel: Panel, n: number) => Promise<unknown>>

const names = Object.keys(EVENTS) as (keyof typeof EVENTS)[]
const step = fc.record({ event: fc.constantFrom(...names), at: fc.constantFrom<0 | 1>(0, 1), n: fc.nat(99) })

const QUESTIONS = [
  '/sites',
  '/sites?limit=1',
  '/subscriptions',
  '/auth/me',
  '/admin/users?limit=2',
  '/sites/1',
  '/auth/api-keys',
]

/** Everything that one panel answers the user. */
async function answersOf(panel: Panel, { credentials, subscription }: World): Promise<string[]> {
  const asked = credentials.flatMap((as) =>
    [...QUESTIONS, `/sites?subscription_id=${subscription}`].map((path) => ({ as, path })),
  )
  const answers = await Promise.all(asked.map(({ as, path }) => panel.get(path, as)))
  return answers.map(({ status, data, headers }, i) => {
    const what = `${asked[i]?.path} ${status} ${JSON.stringify(data)} ${headers.get('link')}`
    // When a credential was last used, each process knows of its own requests first; limits are each process's own.
    return what.replaceAll(/"(last_used_at|last_seen_at)":[^,}]+|"rate_limit":\{[^}]*\}/g, '')
  })
}

/** A customer whom no history before has touched. */
async function newWorld(): Promise<World> {
  const [panel] = panels
  await panel.services.settings.change(operator, { requireTwoFactor: 'nobody' })
  const { id, token } = await panel.customer()
  const subscription = await panel.subscription(id)
  const limited = await panel.key(token, { scopes: ['sites:read'], subscription_id: subscription })
  return { admin: await panel.admin(), userId: id, credentials: [token, await panel.key(token), limited], subscription }
}

test(
  'all panels answer alike right after any change to a user at one of them',
  () => fuzz('coherence', round),
  TEST_TIMEOUT_MS,
)

async function round(seed: number): Promise<void> {
  const histories = fc.array(step, { minLength: STEPS, maxLength: STEPS })
  const property = fc.asyncProperty(histories, async (history) => {
    const world = await newWorld()
    for (const { event, at, n } of history) {
      await EVENTS[event](world, panels[at], n)
      const [here, there] = [await answersOf(panels[at], world), await answersOf(panels[1 - at] as Panel, world)]
      expect(there).toEqual(here)
    }
    const fresh = await startPanel({ data })
    try {
      expect(await answersOf(fresh, world)).toEqual(await answersOf(panels[0], world))
    } finally {
      await fresh.stop()
    }
  })
  await fc.assert(property, { seed, numRuns: RUNS, ...AT_ONCE })
}
