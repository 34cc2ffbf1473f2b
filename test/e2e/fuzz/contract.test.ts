/** Fuzzing from the contract: whatever is sent to whatever operation, the answer is one that the document allows. */
import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import Ajv from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import { operator } from '../../../src/core/actor.ts'
import { catalogue } from '../../../src/core/errors.ts'
import { Rejection } from '../../../src/core/rejection.ts'
import { createTestLog } from '../../harness/log.ts'
import { type Operation, operationsOf } from '../../harness/operations.ts'
import { type Answer, PASSWORD, usePanel } from '../../harness/panel.ts'
import { AT_ONCE, fuzz, TEST_TIMEOUT_MS } from './options.ts'
import { type Caller, type FuzzedRequest, requestsOf } from './requests.ts'

/** For each operation and round. */
const REQUESTS = 12
/** Sent at once. */
const BURST = 3

const log = createTestLog()
let operations: Operation[]
const panel = await usePanel({ limitProbe: 1_000_000 }, log)
beforeAll(async () => {
  operations = await operationsOf(panel)
  // One whom the requests can log in as.
  const passwordHash = await panel.services.passwords.hash(PASSWORD)
  await panel.services.users.create(
    operator,
    { email: 'fuzz0@example.com', name: 'Fuzz', role: 'customer' },
    passwordHash,
  )
})

const credentials = new Map<Caller, string>()

/** A credential that works now: the requests before may have ended it, or its user. */
async function credentialOf(caller: Caller): Promise<string | undefined> {
  if (caller === 'nobody') return undefined
  // An administrator may have asked all users for 2FA, which would leave little to do for the requests after.
  const { requireTwoFactor } = await panel.services.settings.read()
  if (requireTwoFactor !== 'nobody') await panel.services.settings.change(operator, { requireTwoFactor: 'nobody' })
  if (caller === 'rubbish') return `ncp_${'0'.repeat(63)}x`
  const known = credentials.get(caller)
  if (known !== undefined) {
    const found = await panel.services.credentials.recognize(known)
    if (!(found instanceof Rejection)) return known
  }
  const role = caller.startsWith('admin') ? 'admin' : 'customer'
  const user = await panel.customer(role)
  if (role === 'customer') {
    await panel.services.subscriptions.create(operator, {
      userId: user.id,
      name: 'Hosting',
      maxSites: 0,
      isDefault: undefined,
    })
  }
  const credential = caller.endsWith('key') ? await panel.key(user.token) : user.token
  credentials.set(caller, credential)
  return credential
}

/** The newest id of what a path is about, so that most requests meet something. */
function newestId(path: string): number {
  // An archive is named by its digest.
  if (path.includes('/archives/')) return 1
  const [, table = ''] = /\/([\w-]+)\/\{id\}/.exec(path) ?? []
  using database = new Database(join(panel.data, 'ncp.db'), { readonly: true })
  const newest = database.query<{ id: number | null }, []>(`SELECT max(id) AS id FROM "${table.replaceAll('-', '_')}"`)
  return newest.get()?.id ?? 1
}

/** Fills in what depends on what there is by now. @returns the request, ready to be sent */
async function prepare({ method }: Operation, request: FuzzedRequest): Promise<() => Promise<Answer>> {
  const as = await credentialOf(request.caller)
  const path = request.path.includes('{id}') ? request.path.replace('{id}', `${newestId(request.path)}`) : request.path
  return () =>
    panel.send(method, path + request.query, {
      ...(as !== undefined && { as }),
      ...(request.body !== undefined && { rawBody: request.body }),
      headers: request.headers,
    })
}

/** Whether the document allows a body, as a client would check it. */
function createBodyCheck() {
  const ajv = new Ajv({ strict: false })
  addFormats(ajv)
  const checks = new Map(operations.flatMap(({ id, body }) => (body ? [[id, ajv.compile(body)] as const] : [])))
  return ({ id }: Operation, { body }: FuzzedRequest): boolean => {
    const check = checks.get(id)
    return (
      check === undefined || check(JSON.parse(typeof body === 'string' ? body : Buffer.from(body ?? '').toString()))
    )
  }
}

test(
  'every operation answers every request as documented, and never with a 500',
  () => fuzz('contract', round),
  TEST_TIMEOUT_MS,
)

async function round(seed: number): Promise<void> {
  const isAllowed = createBodyCheck()
  for (const operation of operations) {
    const bursts = fc.array(requestsOf(operation), { minLength: 1, maxLength: BURST })
    const property = fc.asyncProperty(bursts, async (burst) => {
      // The harness holds each answer against the envelope, the headers and the document.
      const ready: (() => Promise<Answer>)[] = []
      for (const request of burst) ready.push(await prepare(operation, request))
      const answers = await Promise.all(ready.map((send) => send()))
      for (const [i, { status, message }] of answers.entries()) {
        const request = burst[i] as FuzzedRequest
        if (status >= 500) throw new Error(`${status} ${message}`)
        if (status === 422 && message === catalogue.validation_error.message) throw new Error('422 without a reason')
        if (status < 300 && !isAllowed(operation, request)) throw new Error(`${status} for a body that is not allowed`)
        const names = new Set(operation.parameters.map(({ name }) => name))
        const strange = [...new URLSearchParams(request.query).keys()].filter((name) => !names.has(name))
        if (status < 300 && strange.length > 0) throw new Error(`${status} with the unknown parameter ${strange[0]}`)
      }
    })
    await fc.assert(property, { seed, numRuns: REQUESTS / BURST, ...AT_ONCE })
  }
  await expectSound()
}

/** What must hold whatever has been sent. */
async function expectSound(): Promise<void> {
  expect((await panel.get('/livez')).status).toBe(200)
  expect((await panel.get('/readyz')).status).toBe(200)
  expect(log.lines.filter(({ msg }) => msg === 'unexpected error')).toEqual([])
  using database = new Database(join(panel.data, 'ncp.db'), { readonly: true })
  expect(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  expect(database.query('PRAGMA foreign_key_check').all()).toEqual([])
  const defaults = database.query('SELECT user_id FROM subscriptions GROUP BY user_id HAVING sum(is_default) <> 1')
  expect(defaults.all()).toEqual([])
  const administrators = database.query("SELECT id FROM users WHERE role = 'admin' AND status = 'active'")
  expect(administrators.all().length).toBeGreaterThan(0)
}
