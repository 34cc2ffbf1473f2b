/** The audit log by time, also where the clock was wrong: no entry is missing, and none is there that should not be. */
import { beforeAll, expect, test } from 'bun:test'
import { type Answer, usePanel } from '../../../harness/panel.ts'

type Entry = { id: number; created_at: string; action: string; account_id: number | null }

let all: Entry[]
/** By seconds from the beginning, in the order in which it happened: ahead for a while, put back, put back again. */
const OFFSETS = [0, 10, 10, 20, 5000, 5010, 30, 40, 15, 50, 60]
let start: number

const panel = await usePanel()
const ada = await panel.customer()
await panel.subscription(ada.id)
beforeAll(async () => {
  start = panel.clock.now()
  for (const [i, offset] of OFFSETS.entries()) {
    panel.clock.advance((start - panel.clock.now()) / 1000 + offset)
    await panel.post('/sites', ada.token, { domain: `site${i}.example` })
  }
  panel.clock.advance((start - panel.clock.now()) / 1000 + 60)
  const admin = await panel.admin()
  all = (await panel.get<Entry[]>('/admin/audit-log?limit=1000', admin)).data
})

const timeAt = (offset: number) => new Date(start + offset * 1000).toISOString()

async function idsOf(path: string, as: string): Promise<number[]> {
  const ids: number[] = []
  let next: string | undefined = path
  while (next !== undefined) {
    const page: Answer<Entry[]> = await panel.get<Entry[]>(next, as)
    ids.push(...page.data.map(({ id }) => id))
    next = /^<(.+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1]
  }
  return ids
}

test('every time range returns what is dated within it, in every list and at every page size', async () => {
  const admin = await panel.admin()
  const bounds = [undefined, -1, 0, 10, 11, 15, 30, 45, 60, 61, 5000, 5010, 6000]
  for (const from of bounds) {
    for (const to of bounds) {
      const isWithin = ({ created_at }: Entry) =>
        (from === undefined || created_at >= timeAt(from)) && (to === undefined || created_at < timeAt(to))
      const times = `${from === undefined ? '' : `&from=${timeAt(from)}`}${to === undefined ? '' : `&to=${timeAt(to)}`}`
      const sites = all.filter((entry) => entry.action === 'site.create' && isWithin(entry)).map(({ id }) => id)
      const own = all.filter((entry) => entry.account_id === ada.id && isWithin(entry)).map(({ id }) => id)
      expect([times, await idsOf(`/audit-log?limit=3${times}`, ada.token)]).toEqual([times, own])
      expect([times, await idsOf(`/audit-log?action=site.create${times}`, ada.token)]).toEqual([times, sites])
      const byUser = `/admin/audit-log?user_id=${ada.id}&limit=2${times}`
      expect([times, await idsOf(byUser, admin)]).toEqual([times, own])
    }
  }
}, 600_000)
