/** Counts by the hour, which are reported once. */
import { expect, test } from 'bun:test'
import { MAX_HOURS_OF_BATCH, type UsageBatch } from '../../src/node/protocol.ts'
import { createHourlyUsage } from '../../src/site-logs/hourly-usage.ts'

const HOUR = Date.UTC(2026, 11, 3, 12)

test('requests add up by site and hour', async () => {
  const usage = createHourlyUsage()
  const sent: UsageBatch[] = []
  for (const status of [200, 204, 304, 404, 503, 101]) usage.add(7, HOUR + status, { status, bytes: 10 })
  usage.add(7, HOUR + 3_600_000, { status: 200, bytes: 1 })
  usage.add(8, HOUR, { status: 999, bytes: 0 })
  await usage.report(async (batch) => void sent.push(batch))
  expect(sent.map(({ hours }) => hours)).toEqual([
    [
      { siteId: 7, hour: HOUR, requests: 6, bytes: 60, statuses: [1, 2, 1, 1, 1] },
      { siteId: 7, hour: HOUR + 3_600_000, requests: 1, bytes: 1, statuses: [0, 1, 0, 0, 0] },
      { siteId: 8, hour: HOUR, requests: 1, bytes: 0, statuses: [0, 0, 0, 0, 0] },
    ],
  ])
  await usage.report(() => Promise.reject(new Error('nothing is left to report')))
})

test('a batch that did not arrive is sent again as it was, and what came after it with the next', async () => {
  const usage = createHourlyUsage()
  const tried: UsageBatch[] = []
  usage.add(7, HOUR, { status: 200, bytes: 1 })
  await expect(
    usage.report(async (batch) => {
      tried.push(structuredClone(batch))
      throw new Error('cut off')
    }),
  ).rejects.toThrow('cut off')
  usage.add(7, HOUR, { status: 200, bytes: 1 })
  await usage.report(async (batch) => void tried.push(batch))
  expect(tried).toHaveLength(3)
  expect(tried[1]).toEqual(tried[0])
  expect(tried[2]?.hours).toEqual(tried[0]?.hours)
  expect(tried[2]?.id).not.toBe(tried[0]?.id)
})

test('many sites are reported in several batches', async () => {
  const usage = createHourlyUsage()
  for (let siteId = 1; siteId <= MAX_HOURS_OF_BATCH + 1; siteId++) usage.add(siteId, HOUR, { status: 200, bytes: 0 })
  const sizes: number[] = []
  await usage.report(async ({ hours }) => void sizes.push(hours.length))
  expect(sizes).toEqual([MAX_HOURS_OF_BATCH, 1])
})
