/** Questions to nodes about logs: asked once, answered by the right node, bounded. */
import { expect, test } from 'bun:test'
import { createLogRequests } from '../../src/node/log-requests.ts'

const wanted = { siteId: 7, kind: 'access', lines: 3, search: null } as const

test('a node gets a question once, and its answer goes to who asked', async () => {
  const requests = createLogRequests()
  const asked = requests.ask(1, wanted)
  expect(requests.take(2)).toEqual([])
  const [request, ...others] = requests.take(1)
  expect(request).toEqual({ id: expect.any(String), ...wanted })
  expect([others, requests.take(1)]).toEqual([[], []])
  requests.answer(1, { id: request?.id ?? '', lines: ['one', 'two'] })
  expect(await asked).toEqual(['one', 'two'])
})

test('an answer of another node, to no question or a second one is passed over', async () => {
  const requests = createLogRequests()
  const asked = requests.ask(1, wanted)
  const id = requests.take(1)[0]?.id ?? ''
  requests.answer(2, { id, lines: ['forged'] })
  requests.answer(null, { id, lines: ['forged'] })
  requests.answer(1, { id: 'unknown', lines: ['lost'] })
  requests.answer(1, { id, lines: ['right'] })
  requests.answer(1, { id, lines: ['late'] })
  expect(await asked).toEqual(['right'])
})

test('what a node answers is bounded: the newest lines stay', async () => {
  const requests = createLogRequests()
  const asked = requests.ask(1, wanted)
  const id = requests.take(1)[0]?.id ?? ''
  requests.answer(1, { id, lines: ['1', '2', '3', '4', 'x'.repeat(100_000)] })
  expect((await asked).map((line) => line.length)).toEqual([1, 1, 16 * 1024])
  const many = requests.ask(1, { ...wanted, lines: 1000 })
  const other = requests.take(1)[0]?.id ?? ''
  requests.answer(1, { id: other, lines: Array.from({ length: 1000 }, () => 'y'.repeat(10_000)) })
  expect((await many).join('').length).toBeLessThanOrEqual(1024 * 1024)
})

test('a node that does not answer, and too many questions, are unavailable', async () => {
  const requests = createLogRequests(20)
  const asked = Array.from({ length: 17 }, () => requests.ask(1, wanted))
  const ends = await Promise.allSettled(asked)
  expect(ends.map(({ status }) => status)).toEqual(Array(17).fill('rejected'))
  expect(ends.at(-1)).toMatchObject({ reason: { code: 'unavailable', message: expect.stringContaining('Too many') } })
  expect(ends[0]).toMatchObject({ reason: { code: 'unavailable', message: expect.stringContaining('did not answer') } })
  // They make room for others.
  expect(requests.take(1)).toEqual([])
  requests.ask(1, wanted).catch(() => {})
  expect(requests.take(1)).toHaveLength(1)
})

test('a node that waits is woken by a question to it and to no other, and by its end', async () => {
  const requests = createLogRequests(1000)
  const stopping = new AbortController()
  let woken = 0
  const waits = [1, 1, 2].map((node) => requests.waitForAny(node, stopping.signal).then(() => woken++))
  requests.ask(1, wanted).catch(() => {})
  await Promise.all(waits.slice(0, 2))
  expect(woken).toBe(2)
  stopping.abort()
  await Promise.all(waits)
  await requests.waitForAny(1, AbortSignal.abort())
  const [request] = requests.take(1)
  requests.answer(1, { id: request?.id ?? '', lines: [] })
})

test('this process answers at once', async () => {
  const requests = createLogRequests()
  requests.answerHere(async ({ siteId }) => [`site ${siteId}`])
  expect(await requests.ask(null, wanted)).toEqual(['site 7'])
})
