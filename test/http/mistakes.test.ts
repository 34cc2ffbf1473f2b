/** What a request is told about its mistakes: all of them at once, in few words, and without a long look. */
import { describe, expect, test } from 'bun:test'
import { Check } from '@sinclair/typebox/value'
import { t } from 'elysia'
import { invalidRequest } from '../../src/http/mistakes.ts'
import { closed, list, text } from '../../src/http/schema.ts'
import { usePanel } from '../harness/panel.ts'

const panel = await usePanel()
const admin = await panel.admin()
const ada = await panel.customer()
await panel.subscription(ada.id)

/** @returns status and message */
const createUser = async (body: unknown) => {
  const { status, message } = await panel.post('/admin/users', admin, body)
  return [status, message]
}

describe('a body with several mistakes', () => {
  test('reports all of them at once, in the order of the document, and stores nothing', async () => {
    expect(await createUser({})).toEqual([400, 'email: is required; name: is required; role: is required'])
    expect(await createUser({ role: 'owner', name: '', email: 'ada', password: 'x' })).toEqual([
      422,
      'email: must be an email address of at most 254 characters, in ASCII; name: must be 1 to 100 characters, without control characters; role: must be one of admin, customer; password: is not a known field',
    ])
    expect((await panel.get<unknown[]>('/admin/users', admin)).data).toHaveLength(2)
  })

  test('is 400 where one of them is a missing or mistyped field', async () => {
    expect(await createUser({ email: 'ada', name: 1, role: 'customer' })).toEqual([
      400,
      'email: must be an email address of at most 254 characters, in ASCII; name: must be a string',
    ])
  })

  test('reports ten, and how many more there are', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`x${i}`, i]))
    const [status, message] = await createUser({ email: 'ada@example.com', name: 'Ada', role: 'customer', ...unknown })
    const told = Array.from({ length: 10 }, (_, i) => `x${i}: is not a known field`)
    expect([status, message]).toEqual([422, `${told.join('; ')}; and 20 more`])
  })

  test('reports unknown fields once, without repeating their names', async () => {
    const body = {
      email: 'ada@example.com',
      name: 'Ada',
      role: 'customer',
      '<b>': 1,
      'a\nb': 2,
      [`x${'x'.repeat(99)}`]: 3,
    }
    expect(await createUser(body)).toEqual([422, 'body: is not a known field'])
  })

  test('reports the first wrong item of a list', async () => {
    const aliases = ['fine.example', ...Array(50).fill(7)]
    const { status, message } = await panel.post('/sites', ada.token, { aliases, document_root: '/' })
    expect([status, message]).toEqual([
      400,
      'domain: is required; aliases.1: must be a string; document_root: is not a known field',
    ])
  })
})

test('a body reports invalid domain names beside its other mistakes', async () => {
  const body = { domain: 'example', aliases: ['fine.example', '*.example'], php: '8.4' }
  const { status, message } = await panel.post('/sites', ada.token, body)
  const rule = 'must be a full domain name, such as www.example.com'
  expect([status, message]).toEqual([422, `domain: ${rule}; aliases.1: ${rule}; php: is not a known field`])
})

test('a query with several mistakes reports all of them at once', async () => {
  const { status, message } = await panel.get('/sites?limit=0&subscription_id=x&page=2', ada.token)
  expect([status, message]).toEqual([
    400,
    'subscription_id: must be an integer; limit: must be from 1 to 1000; page: is not a known field',
  ])
})

test('a path with several mistakes reports all of them at once', async () => {
  const { status, message } = await panel.delete('/admin/users/x/sessions/y', admin)
  expect([status, message]).toEqual([400, 'id: must be an integer; session_id: must be an integer'])
})

test('a query of more than 64 parameters is 400', async () => {
  const query = (length: number) => Array.from({ length }, (_, i) => `x${i}=1`).join('&')
  expect((await panel.get(`/sites?${query(64)}`, ada.token)).status).toBe(422)
  const answer = await panel.get(`/sites?${query(65)}`, ada.token)
  expect([answer.status, answer.message]).toEqual([400, 'Give at most 64 query parameters'])
})

describe('before any schema checks a body', () => {
  const post = async (rawBody: string) => {
    const { status, message } = await panel.send('POST', '/sites', { as: ada.token, rawBody })
    return [status, message]
  }
  const names = (length: number) => Array.from({ length }, (_, i) => `"n${i}":0`).join(',')

  test('an object may have 64 names', async () => {
    const tooMany = [400, 'An object in the body has too many fields: at most 64']
    expect((await post(`{${names(64)}}`))[1]).toStartWith('domain: is required')
    expect(await post(`{${names(65)}}`)).toEqual(tooMany)
    expect(await post(`{"domain":"a.example","aliases":[{${names(65)}}]}`)).toEqual(tooMany)
  })

  test('all arrays together may have 1000 items, empty ones counted as one', async () => {
    const tooMany = [400, 'The arrays of the body hold too many items: at most 1000 in all']
    const ones = (length: number) => Array(length).fill(1).join(',')
    expect(await post(`{"domain":"a.example","aliases":[${ones(1000)}]}`)).toEqual([
      422,
      'aliases: must have at most 100 entries',
    ])
    expect(await post(`{"domain":"a.example","aliases":[${ones(1001)}]}`)).toEqual(tooMany)
    expect(await post(`{"domain":"a.example","aliases":[${ones(32_000)}]}`)).toEqual(tooMany)
    expect(await post(`{"domain":[${ones(501)}],"aliases":[${ones(501)}]}`)).toEqual(tooMany)
    expect(await post(`[${'[],'.repeat(1000)}[]]`)).toEqual(tooMany)
  })

  test('there may be 16 levels', async () => {
    const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}0${'}]'.repeat(levels / 2)}`
    expect(await post(nested(16))).toEqual([400, 'body: must be an object'])
    expect(await post(nested(18))).toEqual([400, 'The body is nested too deeply: at most 16 levels'])
  })

  test('brackets, commas and quotes inside strings are text', async () => {
    const alias = `${'[{,:\\"\\\\'.repeat(20)}.example`
    const [status, message] = await post(`{"domain":"a.example","aliases":["${alias}"]}`)
    expect([status, message]).toEqual([422, expect.stringMatching(/^aliases\.0: must be a full domain name/)])
  })
})

describe('the cost of a refusal', () => {
  /** A list of texts that counts how often one of them is judged. */
  function counted() {
    const looked = { times: 0 }
    const item = text({
      maxLength: 10,
      obeys: () => {
        looked.times++
        return false
      },
    })
    return { looked, schema: closed({ list: t.Optional(list(item, { maxItems: 1000, examples: [['a']] })) }) }
  }

  test('does not grow with the number of wrong items', () => {
    const { looked, schema } = counted()
    const { message } = invalidRequest(schema, { list: Array.from({ length: 1000 }, (_, i) => `${i}`) }, 'body')
    expect([message, looked.times]).toEqual(['list.0: must be at most 10 characters', 1])
  })

  test('is nothing for an item far too long to be counted', () => {
    const { looked, schema } = counted()
    expect(Check(schema, { list: ['x'.repeat(60_000)] })).toBe(false)
    expect(looked.times).toBe(0)
  })
})
