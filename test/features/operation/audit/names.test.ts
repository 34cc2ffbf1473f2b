/** The audit log calls each field what the API calls it, so that a reader of one finds it in the other. */
import { describe, expect, test } from 'bun:test'
import { catalogue } from '../../../../src/core/errors.ts'
import { smallArchive } from '../../../harness/archives.ts'
import { enrol } from '../../../harness/authenticator.ts'
import { operationsOf, type Schema } from '../../../harness/operations.ts'
import { PASSWORD, usePanel } from '../../../harness/panel.ts'

type Entry = { action: string; result: string; reason: string | null; details: Record<string, unknown> }

/** What happened, where no request or answer has a field for it. */
const ONLY_IN_THE_LOG = [
  'aliases_added',
  'aliases_removed',
  'api_keys',
  'by',
  'new_address',
  'previous_key_prefix',
  'previous_valid_until',
  'sites',
]

const panel = await usePanel({ sitesPort: 8080 })
const admin = await panel.admin()

const entries = async (action: string) =>
  (await panel.get<Entry[]>(`/admin/audit-log?action=${action}&limit=1000`, admin)).data

/** Every name of a field in a schema, at any depth. */
function namesIn({ properties = {}, items, anyOf = [] }: Schema): string[] {
  const children = [...Object.values(properties), ...(items ? [items] : []), ...anyOf]
  return [...Object.keys(properties), ...children.flatMap(namesIn)]
}

test('every setting is logged under its name in the API', async () => {
  const { data: before } = await panel.get<Record<string, unknown>>('/admin/settings', admin)
  const changes: Record<string, unknown> = { ...before, require_2fa: 'administrators' }
  for (const [name, value] of Object.entries(before)) {
    if (typeof value === 'number') changes[name] = value + 1
    if (typeof value === 'boolean') changes[name] = !value
  }
  expect((await panel.patch('/admin/settings', await panel.key(admin), changes)).status).toBe(200)
  const [entry] = (await panel.services.auditLog.list({ limit: 1, afterId: 0 })).rows
  expect([entry?.action, JSON.parse(entry?.details ?? '')]).toEqual([
    'settings.change',
    Object.fromEntries(Object.entries(changes).filter(([name, value]) => value !== before[name])),
  ])
  await panel.services.settings.change(
    { kind: 'operator' },
    { requireTwoFactor: 'nobody', requireCodeForApiKeys: false },
  )
})

test('every detail that a panel logs has the name of a field in the document', async () => {
  const ada = await panel.customer()
  const user = (await panel.post<{ id: number }>('/admin/users', admin, newUser())).data.id
  await panel.patch(`/admin/users/${user}`, admin, { name: 'Renamed', role: 'admin', status: 'disabled' })
  const subscription = await panel.subscription(ada.id)
  await panel.patch(`/admin/subscriptions/${subscription}`, admin, { max_sites: 5, user_id: user })
  await panel.patch(`/admin/subscriptions/${subscription}`, admin, { user_id: ada.id, is_default: true, name: 'Again' })
  const site = (await panel.post<{ id: number }>('/sites', ada.token, { domain: 'a.example', aliases: ['b.example'] }))
    .data.id
  await panel.patch(`/sites/${site}`, ada.token, { aliases: [], spa: true, status: 'disabled' })
  const rawBody = smallArchive()
  const { data } = await panel.send<{ id: number }>('POST', `/sites/${site}/deployments`, { as: ada.token, rawBody })
  const release = { siteId: site, deploymentId: data.id, state: 'ready', files: 1, bytes: 5 } as const
  await panel.services.takeReport(null, { sites: [], releases: [release], removedSubscriptions: [] })
  await panel.post(`/sites/${site}/deployments/${data.id}/activate`, ada.token)
  await panel.delete(`/sites/${site}`, ada.token)
  const expires_at = new Date(panel.clock.now() + 1_000_000).toISOString()
  const options = { scopes: ['sites:read'], allowed_cidrs: ['127.0.0.1'], subscription_id: subscription, expires_at }
  const key = (await panel.post<{ id: number }>('/auth/api-keys', ada.token, { name: 'Limited', ...options })).data.id
  await panel.patch(`/auth/api-keys/${key}`, ada.token, { expires_at: null })
  await panel.post(`/auth/api-keys/${key}/rotate`, ada.token, {})
  await panel.delete(`/auth/api-keys/${key}`, ada.token)
  await panel.delete(`/admin/users/${user}`, admin)

  const operations = await operationsOf(panel)
  const documented = new Set(
    operations.flatMap(({ body, answers }) => [...(body ? [body] : []), ...answers].flatMap(namesIn)),
  )
  const logged = (await panel.services.auditLog.list({ limit: 1000, afterId: 0 })).rows.flatMap(({ action, details }) =>
    Object.keys(JSON.parse(details)).map((name) => `${action}: ${name}`),
  )
  expect(logged).toContain('api_key.rotate: key_prefix')
  expect(logged).toContain('subscription.change: max_sites')
  expect(logged).toContain('deployment.create: archive_bytes')
  const unknown = logged.filter((entry) => {
    const name = entry.slice(entry.indexOf(' ') + 1)
    return !documented.has(name) && !ONLY_IN_THE_LOG.includes(name)
  })
  expect(unknown).toEqual([])
})

describe('the reason of a failure or a refusal', () => {
  test('is the `error` that the client was sent', async () => {
    const ada = await panel.customer()
    await enrol(panel, ada.token)
    const sent = [
      await panel.post('/auth/login', undefined, { email: ada.email, password: PASSWORD, totp_code: '000000' }),
      await panel.get('/admin/users', ada.token),
      await panel.get('/sites', await panel.key(ada.token, { allowed_cidrs: ['192.0.2.1'] })),
    ]
    panel.clock.advance(600)
    await panel.services.incidents.flush()
    const logged = [...(await entries('auth.login')), ...(await entries('request'))].flatMap(
      ({ reason }) => reason ?? [],
    )
    expect(logged.sort()).toEqual(sent.map(({ error }) => error ?? '').sort())
    const errors: string[] = Object.values(catalogue).map(({ error }) => error)
    expect(logged.filter((reason) => !errors.includes(reason))).toEqual([])
  })
})

const newUser = () => ({ email: 'named@example.com', name: 'Named', role: 'customer' })
