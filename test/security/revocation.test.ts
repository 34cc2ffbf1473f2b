/** A right that is taken away while a request is on its way is gone for that request too, whatever route it takes. */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, mock, spyOn, test } from 'bun:test'
import { join } from 'node:path'
import { TOTP } from 'otpauth'
import { panelItself } from '../../src/core/actor.ts'
import { certificateNames } from '../../src/db/tables.ts'
import { smallArchive } from '../harness/archives.ts'
import { createTestAuthority } from '../harness/certificates.ts'
import { openConnection } from '../harness/connection.ts'
import { keepRows } from '../harness/database.ts'
import { useMailingPanel } from '../harness/mailing-panel.ts'
import { exampleBody, type Operation, operationsOf } from '../harness/operations.ts'
import { type Customer, PASSWORD } from '../harness/panel.ts'
import { until } from '../harness/until.ts'

type Kind = 'JWT' | 'API key'
type User = Customer & { sessionId: number; key: string; keyId: number }
type Asked = {
  user: User
  kind: Kind
  operation: Operation
  path: string
  /** As it is sent; undefined for none. */
  body: string | Uint8Array<ArrayBuffer> | undefined
  headers?: Record<string, string>
}
type Refusal = { status: number; error: string | null }

/** What takes a right away: SQL, as another process would write it, about the user and the credential that ask. */
type Taking = {
  name: string
  /** For one kind of credential alone. */
  of?: Kind
  sql(asked: Asked): string
}

let operations: Operation[]
/** What was stored before the first request. */
let kept: ReturnType<typeof keepRows>
/** Another process that writes. */
let other: Database
let anna: User
let carl: User
let dora: User
let erin: User
let finn: User
/** The ids that stand in paths, by the name of the parameter or the path of the resource. */
let ids: Record<string, number>
/** Bodies of operations where the document's example would not work. */
let bodies: Record<string, object>
/** Callers of operations that need neither the administrator for `/admin` nor the customer for the rest. */
let callers: Record<string, User>
let admitted = 0
let queued = 0

const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH'
const REFUSED = [401, 403, 404]
const demotion: Taking = {
  name: 'the user is demoted',
  sql: ({ user }) => `UPDATE users SET role = 'customer' WHERE id = ${user.id}`,
}
const takings: Taking[] = [
  { name: 'the user is disabled', sql: ({ user }) => `UPDATE users SET status = 'disabled' WHERE id = ${user.id}` },
  { name: 'the user is deleted', sql: ({ user }) => `DELETE FROM users WHERE id = ${user.id}` },
  demotion,
  { name: 'the credential is deleted', sql: (asked) => `DELETE FROM ${rowOf(asked)}` },
  {
    name: 'the credential has expired',
    sql: (asked) => change(asked, `expires_at = ${panel.clock.now()}`),
  },
  {
    name: 'a second factor is required',
    sql: () => `INSERT INTO settings VALUES ('requireTwoFactor', '"everyone"', 0)`,
  },
  {
    name: 'the subscription goes to another user',
    sql: ({ user }) => `UPDATE subscriptions SET user_id = ${dora.id}, is_default = 0 WHERE user_id = ${user.id}`,
  },
  { name: 'the key loses its scopes', of: 'API key', sql: (asked) => change(asked, `scopes = '[]'`) },
  {
    name: 'the key is limited to other addresses',
    of: 'API key',
    sql: (asked) => change(asked, `allowed_cidrs = '["192.0.2.0/24"]'`),
  },
  {
    name: 'the key is bound to another subscription',
    of: 'API key',
    sql: (asked) => change(asked, `subscription_id = ${ids.otherSubscription}`),
  },
  { name: 'the key is bound to another site', of: 'API key', sql: (asked) => change(asked, `sites = '[999999]'`) },
  { name: 'the key is rotated', of: 'API key', sql: (asked) => change(asked, `key_hash = 'another'`) },
  {
    name: 'the grace of a rotated key is over',
    of: 'API key',
    sql: (asked) =>
      change(
        asked,
        `previous_key_hash = key_hash, key_hash = 'another', previous_valid_until = ${panel.clock.now() - 1}`,
      ),
  },
]

const rowOf = ({ user, kind }: Asked) =>
  kind === 'JWT' ? `sessions WHERE id = ${user.sessionId}` : `api_keys WHERE id = ${user.keyId}`
const change = (asked: Asked, changes: string) => `UPDATE ${rowOf(asked).replace(' WHERE', ` SET ${changes} WHERE`)}`
const nameOf = ({ method, path }: Operation) => `${method} ${path.replace('/api/v1', '')}`
/** No user has a right to what nodes do, and so none to lose; their tokens are tested in `features/operation/nodes/`. */
const isForNodes = ({ path }: Operation) => path.startsWith('/api/v1/node/')
const isMutating = (operation: Operation) => operation.method !== 'GET' && !operation.isOpen && !isForNodes(operation)

const panel = await useMailingPanel({ sitesPort: 8080, sitesTlsPort: 8443, acmeEmail: 'ops@example.com' })
afterAll(() => {
  mock.restore()
  kept.close()
  other.close()
})
beforeAll(async () => {
  const { sleep } = Bun
  // A write looks every ten milliseconds whether another process has ended; hundreds of them wait here.
  spyOn(Bun, 'sleep').mockImplementation(() => sleep(1))
  const { limiter, store } = panel.services
  const { take } = limiter
  limiter.take = (...request) => {
    admitted++
    return take(...request)
  }
  const { write, writeSoon } = store
  store.write = (work) => {
    queued++
    return write(work)
  }
  store.writeSoon = (work) => {
    queued++
    return writeSoon(work)
  }
  operations = (await operationsOf(panel)).filter(isMutating)
  await makeWorld()
  // Not under way while this test compares what is stored.
  await panel.services.outbox.deliver()
  kept = keepRows(panel)
  other = openDatabase()
}, 600_000)

async function newUser(role: 'customer' | 'admin' = 'customer', keyOptions: object = {}): Promise<User> {
  const user = await panel.customer(role)
  const first = async (path: string) => (await panel.get<{ id: number }[]>(path, user.token)).data.at(0)?.id ?? 0
  const key = await panel.key(user.token, keyOptions)
  return { ...user, key, sessionId: await first('/auth/sessions'), keyId: await first('/auth/api-keys') }
}

async function makeWorld(): Promise<void> {
  anna = await newUser('admin')
  carl = await newUser()
  dora = await newUser()
  erin = await newUser()
  finn = await newUser()
  await panel.patch('/admin/settings', anna.token, { api_key_self_rotation: true })
  const expiresAt = new Date(panel.clock.now() + 30 * 24 * 60 * 60 * 1000).toISOString()
  const gina = await newUser('customer', { can_rotate: true, expires_at: expiresAt })
  const subscription = await panel.subscription(carl.id)
  const site = await panel.post<{ id: number }>('/sites', carl.token, { domain: 'carl.example' })
  const authority = await createTestAuthority(panel.clock.now())
  const certificate = await authority.issue({ names: ['carl.example'] })
  await panel.post(`/sites/${site.data.id}/certificate`, carl.token, certificate)
  const [retryAt, attemptedAt] = [panel.clock.now() + 3_600_000, 0]
  await panel.services.writeAs(panelItself, (tx) =>
    tx
      .insert(certificateNames)
      .values({ name: 'carl.example', state: 'failed', reason: 'x', failures: 1, retryAt, attemptedAt }),
  )
  const rawBody = smallArchive()
  const deployment = await panel.send<{ id: number }>('POST', `/sites/${site.data.id}/deployments?activate=false`, {
    as: carl.token,
    rawBody,
  })
  const release = {
    siteId: site.data.id,
    deploymentId: deployment.data.id,
    state: 'ready',
    files: 1,
    bytes: 5,
  } as const
  await panel.services.takeReport(null, { sites: [], releases: [release], removedSubscriptions: [] })
  const sshKey = await panel.post<{ id: number }>(`/subscriptions/${subscription}/ssh-keys`, carl.token, {
    public_key: SSH_KEY,
  })
  const managed = await panel.post<{ id: number }>('/auth/api-keys', carl.token, { name: 'Managed' })
  await panel.login(carl.email)
  const sessions = await panel.get<{ id: number }[]>('/auth/sessions', carl.token)
  const invited = await panel.post<{ id: number }>('/admin/users', anna.token, {
    email: 'invited@example.com',
    name: 'Invited',
    role: 'customer',
  })
  const otherSubscription = await panel.subscription(dora.id)
  ids = {
    otherSubscription,
    // Without sites: they would have to be named.
    'DELETE /admin/subscriptions/{id}': otherSubscription,
    session_id: sessions.data.at(-1)?.id ?? 0,
    key_id: managed.data.id,
    'DELETE /subscriptions/{id}/ssh-keys/{key_id} key_id': sshKey.data.id,
    deployment_id: deployment.data.id,
    '/auth/sessions': sessions.data.at(-1)?.id ?? 0,
    '/auth/api-keys': managed.data.id,
    '/sites': site.data.id,
    '/subscriptions': subscription,
    '/admin/subscriptions': subscription,
    '/admin/users': carl.id,
    'POST /admin/users/{id}/activation': invited.data.id,
    'POST /admin/users/{id}/2fa/reset': erin.id,
  }
  const setUp = async ({ token }: User) => {
    const { data } = await panel.post<{ secret: string }>('/auth/2fa/setup', token, { password: PASSWORD })
    return () => new TOTP({ secret: data.secret }).generate({ timestamp: panel.clock.now() })
  }
  const erinsCode = await setUp(erin)
  await panel.post('/auth/2fa/enable', erin.token, { totp_code: erinsCode() })
  panel.clock.advance(30)
  const finnsCode = await setUp(finn)
  callers = {
    'POST /auth/2fa/enable': finn,
    'POST /auth/2fa/disable': erin,
    'POST /auth/2fa/recovery-codes': erin,
    'POST /auth/api-keys/self/rotate': gina,
  }
  bodies = {
    'POST /auth/2fa/enable': { totp_code: finnsCode() },
    'POST /auth/2fa/disable': { password: PASSWORD, totp_code: erinsCode() },
    'POST /auth/2fa/recovery-codes': { password: PASSWORD, totp_code: erinsCode() },
    'POST /auth/2fa/setup': { password: PASSWORD },
    'POST /auth/password': { current_password: PASSWORD, new_password: 'an altogether different one' },
    'POST /auth/email': { email: 'moved@example.com', password: PASSWORD },
    'POST /auth/api-keys': { name: 'New', subscription_id: subscription },
    'POST /sites': { domain: 'new.example' },
    'POST /sites/{id}/certificate': certificate,
    'POST /admin/users/{id}/email': { email: 'rescued@example.com', password: PASSWORD },
    'POST /admin/users/{id}/2fa/reset': { password: PASSWORD },
    'POST /admin/subscriptions': { user_id: carl.id, name: 'New' },
    'PATCH /admin/subscriptions/{id}': { name: 'Renamed' },
  }
}

/** The same for every kind of credential; the body is the document's example unless this test knows a better one. */
function askedOf(operation: Operation, kind: Kind): Asked {
  const name = nameOf(operation)
  const user = callers[name] ?? (operation.path.startsWith('/api/v1/admin/') ? anna : carl)
  const prefix = operation.path.replace('/api/v1', '').replace(/\/\{id\}.*/, '')
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const id = ids[name] ?? ids[parameter] ?? ids[prefix]
    if (id === undefined) throw new Error(`${name}: say in this test what stands for ${parameter}`)
    return `${parameter === 'id' ? id : (ids[`${name} ${parameter}`] ?? ids[parameter])}`
  })
  const json = operation.body && JSON.stringify(bodies[name] ?? exampleBody(operation))
  return { user, kind, operation, path, body: operation.takesArchive ? smallArchive() : json }
}

const credentialOf = ({ user, kind }: Asked) => (kind === 'JWT' ? user.token : user.key)

async function sendWhole(asked: Asked): Promise<Refusal> {
  const { operation, path, body, headers } = asked
  const { status, error } = await panel.send(operation.method, path, {
    as: credentialOf(asked),
    ...(body !== undefined && { rawBody: body }),
    ...(headers && { headers }),
  })
  return { status, error }
}

/** Runs SQL as another process would, which deletes what hangs on a row too. */
function openDatabase(): Database {
  const database = new Database(join(panel.data, 'ncp.db'))
  database.run('PRAGMA busy_timeout = 60000')
  database.run('PRAGMA synchronous = OFF')
  database.run('PRAGMA foreign_keys = ON')
  return database
}

function take(taking: Taking, asked: Asked): void {
  other.run(taking.sql(asked))
}

/** The right goes when the headers and half of the body are there. */
async function sendInHalves(taking: Taking, asked: Asked): Promise<Refusal> {
  const bytes = Buffer.from(asked.body ?? '')
  const half = Math.ceil(bytes.length / 2)
  const connection = await openConnection(Number(new URL(panel.origin).port))
  try {
    const before = admitted
    const headers = Object.entries({
      Host: 'localhost',
      Authorization: `Bearer ${credentialOf(asked)}`,
      'Content-Type': 'application/json',
      'Content-Length': `${bytes.length}`,
      ...asked.headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    connection.write(`${asked.operation.method} ${asked.path} HTTP/1.1\r\n${headers.join('')}\r\n`)
    connection.write(bytes.subarray(0, half))
    await until('its admission', () => admitted > before)
    take(taking, asked)
    const answer = connection.answer()
    connection.write(bytes.subarray(half))
    const { status, body } = await answer
    return { status, error: JSON.parse(body).error }
  } finally {
    connection.close()
  }
}

/** The right goes in a transaction of another process, for whose end the request's own waits. */
async function sendIntoQueue(taking: Taking, asked: Asked): Promise<Refusal> {
  other.run('BEGIN IMMEDIATE')
  other.run(taking.sql(asked))
  const before = queued
  let answered: Refusal | undefined
  const answer = sendWhole(asked).then((refusal) => {
    answered = refusal
    return refusal
  })
  await until('its place in the queue', () => queued > before || answered !== undefined)
  other.run('COMMIT')
  return answered ?? answer
}

/** Every credential with which an operation succeeds as things stand. */
async function succeedingWith(operation: Operation): Promise<Asked[]> {
  const found: Asked[] = []
  for (const kind of ['JWT', 'API key'] as const) {
    kept.restore()
    const asked = askedOf(operation, kind)
    if ((await sendWhole(asked)).status < 300) found.push(asked)
  }
  return found
}

/** How a request ends that is sent after the right was taken away; undefined where the right isn't needed for it. */
async function refusalAfter(taking: Taking, asked: Asked): Promise<Refusal | undefined> {
  kept.restore()
  take(taking, asked)
  const refusal = await sendWhole(asked)
  return REFUSED.includes(refusal.status) ? refusal : undefined
}

/**
 * Asks every mutating operation while every right that it needs is taken away.
 *
 * @returns what did not end as it would have ended a moment later, or left something behind
 */
async function askAll(send: typeof sendInHalves, which: (operation: Operation) => boolean): Promise<string[]> {
  const wrong: string[] = []
  let asked = 0
  for (const operation of operations.filter(which)) {
    const ways = await succeedingWith(operation)
    if (ways.length === 0) wrong.push(`${nameOf(operation)}: say in this test with what it succeeds`)
    for (const way of ways) {
      let needed = 0
      for (const taking of takings.filter(({ of }) => of === undefined || of === way.kind)) {
        const expected = await refusalAfter(taking, way)
        if (!expected) continue
        needed++
        kept.restore()
        take(taking, way)
        const before = kept.storedRows()
        kept.restore()
        const got = await send(taking, way)
        const what = `${nameOf(operation)} with the ${way.kind} while ${taking.name}`
        if (got.status !== expected.status || got.error !== expected.error) {
          wrong.push(`${what}: ${got.status} ${got.error}, not ${expected.status} ${expected.error}`)
        }
        const after = kept.storedRows()
        const changed = Object.keys(after).filter((table) => !Bun.deepEquals(after[table], before[table]))
        if (changed.length > 0) wrong.push(`${what}: has written to ${changed}`)
      }
      asked += needed
      // Whatever it does: a user and a credential that are gone do nothing.
      if (needed < 4) wrong.push(`${nameOf(operation)} with the ${way.kind}: only ${needed} rights taken away`)
    }
  }
  expect(asked).toBeGreaterThan(100)
  return wrong
}

/** @see CWE-367: the rights of a request were decided on when its headers arrived, and the body may take half a minute */
test('a right lost while the body arrives is lost for every operation, and nothing is written', async () => {
  expect(await askAll(sendInHalves, ({ body, takesArchive }) => body !== undefined || takesArchive)).toEqual([])
}, 600_000)

test('a right lost while a write waits for its turn is lost for every operation, and nothing is written', async () => {
  expect(await askAll(sendIntoQueue, () => true)).toEqual([])
}, 600_000)

// A replay changes nothing, so no transaction proves the caller again: what is read is decided by the guard's caller.
test('a replay for a user demoted while the body arrives is decided by the new role', async () => {
  kept.restore()
  const operation = operations.find((one) => nameOf(one) === 'POST /sites')
  if (!operation) throw new Error('no operation creates sites')
  const asked: Asked = {
    ...askedOf(operation, 'JWT'),
    user: anna,
    body: JSON.stringify({ domain: 'replayed.example', subscription_id: ids['/subscriptions'] }),
    headers: { 'idempotency-key': 'replayed' },
  }
  for (const _ of ['created', 'replayed']) expect((await sendWhole(asked)).status).toBe(201)
  expect(await sendInHalves(demotion, asked)).toEqual({ status: 403, error: 'forbidden' })
}, 60_000)
