/** No request and no job gets slower with what is stored: the plans of all statements, as SQLite itself explains them. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { operator } from '../../src/core/actor.ts'
import { type MailingPanel, startMailingPanel } from '../harness/mailing-panel.ts'
import { connectNode } from '../harness/node-client.ts'
import { exampleBody, fillPath, type Operation, operationsOf, type Parameter } from '../harness/operations.ts'
import type { Customer } from '../harness/panel.ts'
import { type Plan, plansOf, type Recording, recordStatements } from '../harness/statements.ts'

setDefaultTimeout(300_000)

/** Tables that hold a few rows, however long the panel runs. */
const SMALL_TABLES = new Set(['settings', 'schema_migrations', 'audit_head', 'audit_horizon', 'strangers'])
/** Indexes of a few rows of a table. */
const SMALL_INDEXES = new Set(['users_administrators'])

let recording: Recording
let panel: MailingPanel
let ada: Customer
let admin: string
let operations: Operation[]
/** Of lists: which requests were answered. */
const listed = new Set<string>()
let plans: Plan[]

beforeAll(async () => {
  recording = recordStatements()
  panel = await startMailingPanel()
  admin = await panel.admin()
  ada = await panel.customer()
  await panel.subscription(ada.id)
  await panel.post('/sites', ada.token, { domain: 'ada.example', aliases: ['www.ada.example'] })
  // Lists below a resource are asked for with the id of the customer.
  for (let id = 2; id <= ada.id; id++) await panel.subscription(ada.id)
  for (let id = 2; id <= ada.id; id++) await panel.post('/sites', ada.token, { domain: `ada-${id}.example` })
  const { data: gone } = await panel.post<{ id: number }>('/sites', ada.token, { domain: 'gone.example' })
  await panel.delete(`/sites/${gone.id}`, ada.token)
  operations = await operationsOf(panel)
  await requestLists()
  await requestEverything()
  await runJobs()
  plans = plansOf(recording.statements, panel)
})
afterAll(async () => {
  recording.stop()
  await panel.stop()
})

/** What the panel does by itself. */
async function runJobs(): Promise<void> {
  const { tasks, auditRetention, outbox, health } = panel.services
  expect(tasks.length).toBeGreaterThan(4)
  for (const { run } of tasks) await run(new AbortController().signal)
  // Its task waits until the clock can be believed.
  await auditRetention.prune()
  await reportAsNode()
  await askAsNode()
  await outbox.deliver()
  await outbox.countWaiting()
  await health.check()
}

/** What a node asks for, and what it reports of a site that it serves, and of one that is gone. */
async function reportAsNode(): Promise<void> {
  const { readDesired, takeReport } = panel.services
  const { subscriptions } = await readDesired(null, 0)
  const sites = subscriptions.flatMap(({ id: subscriptionId, sites }) =>
    sites.map(({ id: siteId, generation, state }) => ({
      subscriptionId,
      siteId,
      generation,
      ...(state === 'deleting' ? ({ state: 'removed' } as const) : ({ state: 'serving', documentRoot: '/' } as const)),
    })),
  )
  expect(new Set(sites.map(({ state }) => state))).toEqual(new Set(['serving', 'removed']))
  await takeReport(null, { sites, releases: [], removedSubscriptions: subscriptions.map(({ id }) => id) })
}

/** All that a node on another machine asks for and says, and what moves with it. */
async function askAsNode(): Promise<void> {
  const node = await connectNode(panel)
  const wanted = { userId: 1, name: 'On a node', isDefault: undefined, maxSites: 0 }
  const { id } = await panel.services.subscriptions.create(operator, wanted)
  const { data: state } = await node.state()
  expect(state.subscriptions.map((subscription) => subscription.id)).toEqual([id])
  expect((await node.archive('0'.repeat(64))).status).toBe(404)
  await node.report({ sizes: [{ siteId: 1, bytes: 1, files: 1 }], removedSubscriptions: [id] })
  await panel.services.nodes.drain(operator, node.id, true)
  await panel.services.nodes.remove(operator, node.id, { abandons: true })
}

/** Every list, with every combination of its parameters, as a customer and as an administrator. */
async function requestLists(): Promise<void> {
  const lists = operations.filter(({ method, answers }) => method === 'GET' && isList(answers))
  for (const { id, path, parameters } of lists) {
    const names = parameters.filter(({ in: place }) => place === 'query')
    // The limit changes no plan.
    const without = subsetsOf(names.filter(({ name }) => name !== 'limit'))
    for (const chosen of [...without, names]) {
      const query = new URLSearchParams(
        chosen.map((parameter): [string, string] => [parameter.name, exampleFor(parameter)]),
      )
      for (const as of [ada.token, admin]) {
        const { status } = await panel.get(`${fillPath(path, ada.id)}?${query}`, as)
        if (status === 200) listed.add(`${id} ${query}`)
      }
    }
  }
}

const isList = (answers: Operation['answers']) => answers.some(({ properties }) => properties?.data?.type === 'array')

function subsetsOf<Item>(items: Item[]): Item[][] {
  return Array.from({ length: 2 ** items.length }, (_, bits) => items.filter((_, position) => (bits >> position) & 1))
}

function exampleFor({ name, schema }: Parameter): string {
  if (name === 'cursor') return Buffer.from('id:1').toString('base64url')
  if (name === 'limit' || name === 'lines') return '1000'
  if (name === 'from') return '2026-01-01T00:00:00Z'
  if (name === 'to') return '2027-01-01T00:00:00Z'
  if (name === 'subscription_id') return '1'
  if (name.endsWith('_id')) return `${ada.id}`
  return `${schema.enum?.[0] ?? schema.anyOf?.[0]?.const ?? schema.examples?.[0] ?? 'a'}`
}

/** Whatever becomes of it: what is looked for is the statements. */
async function requestEverything(): Promise<void> {
  const mutating = operations.filter(({ method }) => method !== 'GET')
  for (const operation of [...operations.filter(({ method }) => method === 'GET'), ...mutating]) {
    for (const as of [ada.token, await panel.admin()]) {
      const body = exampleBody(operation)
      await panel.send(operation.method, fillPath(operation.path, 1), {
        as,
        ...(body && { body }),
        headers: { 'idempotency-key': crypto.randomUUID() },
      })
    }
  }
}

test('every list of the reference is requested with all its parameters', () => {
  const lists = operations.filter(({ method, answers }) => method === 'GET' && isList(answers))
  expect(lists.length).toBeGreaterThan(7)
  for (const { id, parameters } of lists) {
    const names = parameters.filter(({ in: place }) => place === 'query').map(({ name }) => name)
    const whole = [...listed].find(
      (request) => request.startsWith(`${id} `) && names.every((name) => request.includes(`${name}=`)),
    )
    expect([id, whole]).toEqual([id, expect.any(String)])
  }
})

test('no statement scans the whole of a table that grows', () => {
  expect(plans.length).toBeGreaterThan(60)
  expect(plans.filter((plan) => scansOf(plan).length > 0)).toEqual([])
})

test('no statement sorts what it has read', () => {
  expect(plans.filter(({ steps }) => steps.some((step) => step.includes('TEMP B-TREE')))).toEqual([])
})

test('no statement counts a table that grows', () => {
  const counts = plans.filter(({ sql }) => /\bcount\(/i.test(sql) && !/\blimit\b/i.test(sql))
  const isOneRow = (step: string) =>
    /^SEARCH \w+ USING (INTEGER PRIMARY KEY \(rowid=\?\)|COVERING INDEX \w+_unique \(\w+=\?\))$/.test(step)
  const ofSmall = (step: string) => SMALL_TABLES.has(/^SCAN (\w+)/.exec(step)?.[1] ?? '')
  expect(counts.filter(({ steps }) => !steps.every((step) => isOneRow(step) || ofSmall(step)))).toEqual([])
})

function scansOf({ sql, steps }: Plan): string[] {
  // The first rows in the order of an index are found without looking at others.
  const isFirstRows = /\blimit\b/i.test(sql) && !/\bwhere\b/i.test(sql)
  return steps.filter((step) => {
    // Not the rows that an INSERT brings with it.
    const table = /^SCAN (\w+)(?! VALUES)(?!-ROW)/.exec(step)?.[1]
    const partial = / INDEX (\w+)/.exec(step)?.[1] ?? ''
    if (SMALL_INDEXES.has(partial)) return false
    return table !== undefined && !SMALL_TABLES.has(table) && !isFirstRows
  })
}
