/**
 * How many guesses at one account does an attacker get verified, and for how long does that keep the owner out? Runs the
 * throttle on a real database with a clock that this moves, for 30 days of an attack that never rests.
 *
 *   bun bench/attacks/guessing.ts                takes about half a minute
 *
 * The owner logs in once a day, from home. "closed" is the rule before: after 100 failures in a row over all addresses nobody
 * gets in from an unknown address until the owner logs in from a known one. Ends with 1 when more than 100 guesses in 30 days
 * are verified, the owner's daily login fails once, or a quiet night doesn't open the account to the owner elsewhere.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { operator } from '../../src/core/actor.ts'
import { openStore } from '../../src/db/sqlite/store.ts'
import { createWriteAs } from '../../src/features/account/credentials/write-as.ts'
import { createThrottle } from '../../src/features/account/proof/throttle.ts'
import { createUsers } from '../../src/features/account/users/users.ts'
import { createAudit } from '../../src/features/operation/audit/audit.ts'
import { createTestClock } from '../../test/harness/clock.ts'
import { noLog } from '../../test/harness/log.ts'

const DAYS = 30
const EVERY_MINUTES = 3
const STEPS_A_DAY = (24 * 60) / EVERY_MINUTES
const MOST_IN_30_DAYS = 100
const NIGHT_HOURS = 9
const HOME = '203.0.113.1'

const directory = mkdtempSync(join(tmpdir(), 'ncp-guessing-'))
const clock = createTestClock()
const store = openStore(join(directory, 'ncp.db'), clock.now())
const audit = createAudit({ store, clock }).record
const { writeAs, writeSoonAs } = createWriteAs({ store, clock, isTwoFactorRequired: async () => false })
const throttle = createThrottle({
  store,
  writeSoonAs,
  clock,
  deletableBefore: clock.now,
  log: noLog,
  audit,
  notify: async () => {},
})
const users = createUsers({
  store,
  clock,
  audit,
  writeAs,
  endSessions: async () => {},
  issueActivation: async () => ({ token: '', expiresAt: 0 }),
})

type Outcome = { perDay: number[]; ownerRefused: number; openElsewhere: boolean }
let failed = false
let accounts = 0
try {
  const rows: object[] = []
  for (const addresses of [1, 10_000]) {
    for (const [rule, attack] of [
      ['closed', attackClosedDoor],
      ['slowed down', attackThrottle],
    ] as const) {
      const { perDay, ownerRefused, openElsewhere } = await attack(addresses)
      const total = perDay.reduce((sum, n) => sum + n, 0)
      if (rule === 'slowed down') failed ||= total > MOST_IN_30_DAYS || ownerRefused > 0 || !openElsewhere
      rows.push({
        addresses,
        rule,
        'guesses, first day': perDay[0],
        'each day after': ((total - (perDay[0] ?? 0)) / (DAYS - 1)).toFixed(1),
        'in 30 days': total,
        "owner's daily logins refused": ownerRefused,
        'owner gets in elsewhere after a quiet night': openElsewhere,
      })
    }
  }
  process.stdout.write(`${Bun.inspect.table(rows)}\n`)
} finally {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
}
process.exit(failed ? 1 : 0)

/** Where an attempt comes from. */
function addressOf(attempt: number, addresses: number): string {
  const n = attempt % addresses
  return `10.0.${n >> 8}.${n & 255}`
}

/** The rule before, in memory: it has no time in it. */
async function attackClosedDoor(): Promise<Outcome> {
  let failures = 0
  const perDay: number[] = []
  for (let day = 0; day < DAYS; day++) {
    let verified = 0
    for (let step = 0; step < STEPS_A_DAY; step++) {
      if (failures >= 100) continue
      failures++
      verified++
    }
    perDay.push(verified)
    if (day < DAYS - 1) failures = 0
  }
  return { perDay, ownerRefused: 0, openElsewhere: failures < 100 }
}

async function attackThrottle(addresses: number): Promise<Outcome> {
  const email = `user${++accounts}@example.com`
  const { id } = await users.create(operator, { email, name: 'User', role: 'customer' }, 'no hash')
  const logIn = (door: Awaited<ReturnType<typeof throttle.admit>>, from: string) =>
    door !== undefined && store.write((tx) => throttle.succeed(tx, id, from, door)).then(() => true)
  await logIn(await throttle.admit(id, HOME), HOME)
  const perDay: number[] = []
  let ownerRefused = 0
  for (let day = 0; day < DAYS; day++) {
    let verified = 0
    for (let step = 0; step < STEPS_A_DAY; step++) {
      // More than the throttle admits at any time but the beginning.
      for (let i = 0; i < 2; i++) if (await throttle.admit(id, addressOf(step * 2 + i, addresses))) verified++
      clock.advance(EVERY_MINUTES * 60)
    }
    perDay.push(verified)
    if (!(await logIn(await throttle.admit(id, HOME), HOME))) ownerRefused++
  }
  clock.advance(NIGHT_HOURS * 60 * 60)
  return { perDay, ownerRefused, openElsewhere: (await throttle.admit(id, '192.0.2.9')) !== undefined }
}
